// Package deploy makes an rvol cluster of a lab's nodes, the way an administrator would: programs and units are laid on the nodes,
// volume groups are made, coordinators and agents join with tokens, systemd runs them.
//
// Its rule: no door of its own. It runs the programs' own verbs, on the nodes and on this machine.
package deploy
