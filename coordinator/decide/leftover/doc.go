// Package leftover decides how much of what was deleted while a node was away is removed there at a time.
//
// Rule: nothing is removed that the state does not know to be deleted; what a person deletes while
// the node is Ready goes at once; what was still to be removed when the node came back goes by
// grants. Whatever happens in whatever order, no period sees more removed than its limit, unless an
// operator says so.
package leftover
