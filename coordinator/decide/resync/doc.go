// Package resync says of copies that are being filled whether they get on, and of those that fill them whether they notice the end.
//
// Rule: it reports, and stops nothing: a resync that is slow is still the way to a second copy.
package resync
