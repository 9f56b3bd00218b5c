// Package agent runs on every storage node. It observes what LVM and DRBD
// hold, decides what is missing, acts, and reports:
//
//	coordinator ==order==> session ──> act.Journal ──> act.Engine <── decide.Next
//	            <=report==     │                          │  ▲
//	                           └───────── observe <───────┴──┘ lvm, drbdsetup, drbdadm
//
// Its rule: [Run] only joins the parts; whatever touches the machine is handed
// in with [Config], so that many agents can run in one process on simulated
// machines. DESIGN.md says why it is as it is.
package agent
