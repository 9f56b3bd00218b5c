package scheduling

// lvgNotReady excludes LVGs that are not ready or that are cordoned.
var lvgNotReady = rule{
	says: "LVG not ready",
	lvg:  func(l *LVG) bool { return l.Ready && !l.Unschedulable },
}
