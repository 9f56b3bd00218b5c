// Package agenttest is a simulated machine for an agent: LVM of package
// lvmtest, DRBD of package drbdtest on its volumes, and files below a folder.
//
// Its rule: it only joins the two; what they do is theirs to say.
package agenttest
