// Package invariant says of each of the promises I1 to I10 whether it holds, as far as
// that can be seen in the state and in the agents' reports.
//
// Its rule: what cannot be seen is Unknown and says why; nothing is True by default.
package invariant
