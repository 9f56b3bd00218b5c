// Package selector reads and matches label selectors.
//
// Rule: what a selector means never changes within a format of the state, for quotas are
// judged by it on every coordinator.
package selector
