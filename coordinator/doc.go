// Package coordinator remembers, decides and instructs: it joins the state, Raft, the
// controllers and the doors into one member of a cluster.
//
// Its rule: it owns every goroutine it starts, and everything that listens, dials or
// speaks to the service manager is handed in, so that whole clusters run in one process
// on virtual time.
//
//	            serve/admin   serve/agents
//	                  \        /      \
//	control ──▶ state.Proposer     inventory ──▶ control
//	                   |
//	               consensus ──▶ Raft log ──▶ state.Store (on every coordinator)
//
// Init makes a cluster of one, Join adds a member to one that runs, Run takes part.
package coordinator
