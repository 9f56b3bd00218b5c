// Package admin is the admin API: one file per noun.
//
// Its rule: it validates, writes defaults into what it stores, and proposes one
// transaction in the caller's name. What only agents know (connections, disks, roles) is
// computed when it is asked for and stored nowhere; where no agent has said it, it is
// Unknown.
package admin
