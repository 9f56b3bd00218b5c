// Package cases answers written cases of class validation, one JSON object a line: can these nodes hold this class?
//
// Rule: it reads, asks eligibility.Validate, and writes; it decides nothing.
package cases
