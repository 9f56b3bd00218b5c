// Package repair says which replica of a volume is to be replaced, and why: it is lost with its
// node or its disk, it is missing, or it stands where the class does not want it any more.
//
// Rule: what is not known is not lost. A missing or partial report is never a cause by itself,
// only how long it has lasted; a pool that is full is no disk that failed; and reachability
// alone moves no role: a replica that is in use stays until somebody says otherwise.
package repair
