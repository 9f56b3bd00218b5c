package scheduling

// nodeNotReady excludes nodes that are down, whose agent is down, or that are cordoned.
var nodeNotReady = rule{
	says: "node not ready",
	node: func(n *Node) bool { return n.Ready && n.AgentReady && !n.Unschedulable },
}
