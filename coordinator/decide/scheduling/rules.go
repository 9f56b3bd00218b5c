package scheduling

// A rule excludes candidates and says so. What depends on a node or an LVG alone is asked once, when candidates are
// prepared; what depends on the replica is marked for each.
type rule struct {
	says string           // the label in the summary: "2 excluded: node occupied"
	node func(*Node) bool // false: the node holds no candidate
	lvg  func(*LVG) bool  // false: the LVG is no candidate
	mark func(*step)      // marks the nodes, zones and places that this replica may not have
}

// rules are all rules, in the order in which they are asked: the first that excludes a candidate counts it.
// Rules that look at a node or an LVG alone stand before the others.
var rules = []rule{
	nodeNotReady,
	lvgNotReady,
	drbdVersion,
	nodeOccupied,
	nodeMismatch,
	zonalMajority,
	transZonalMinReplicas,
	refusedBefore,
	askedFor,
}

// A score prefers candidates. Points are per node, or per zone once it is known how many nodes of it survived.
type score struct {
	says  string
	when  func(*step) bool
	most  int64 // the most that nodes gives: nodes that cannot win are not asked for
	nodes func(*step, group) int64
	zones func(s *step, survivingNodes int) int64
}

// scores are all scores that add to the capacity score of a Diskful's candidates.
var scores = []score{
	attachTo,
	multiLVG,
	zoneShortOfNodes,
}

// A group is what survived on one node.
type group struct {
	node int // index of the node
	lvgs int // candidates on it
}

// A verdict is the rule that excluded a candidate, by its place in rules; kept: none did.
type verdict uint8

// maxRules bounds the rules, and the two verdicts of capacity that follow them.
const (
	maxRules      = 30
	outNoCapacity = verdict(maxRules)
	outUnknown    = verdict(maxRules + 1)
	kept          = verdict(maxRules + 2)
)

// counts counts exclusions by verdict.
type counts [kept + 1]int

func (v verdict) says() string {
	switch v {
	case outNoCapacity:
		return noCapacity
	case outUnknown:
		return unknownCapacity
	case kept:
		return ""
	}
	return rules[v].says
}

func verdictOnNode(n *Node) verdict {
	for i := range rules {
		if rules[i].node != nil && !rules[i].node(n) {
			return verdict(i)
		}
	}
	return kept
}

func verdictOnLVG(l *LVG) verdict {
	for i := range rules {
		if rules[i].lvg != nil && !rules[i].lvg(l) {
			return verdict(i)
		}
	}
	return kept
}
