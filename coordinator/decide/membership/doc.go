// Package membership says which coordinators may be taken out of the cluster without
// taking its majority away.
//
// Its rule: a removal that leaves fewer living voters than the rest needs to agree is
// refused, however dead the removed one is.
package membership
