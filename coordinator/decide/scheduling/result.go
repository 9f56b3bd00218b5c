package scheduling

// A Result is the outcome of one pass: every replica, by id.
type Result struct {
	Replicas []Placement
	Search   *Search // nil: the rules placed everything, or there was nothing to search for
}

// Whole says whether every replica that is to have a place has one.
func (r Result) Whole() bool {
	for _, p := range r.Replicas {
		if p.Scheduled == False || p.Scheduled == Unknown {
			return false
		}
	}
	return true
}

// A Status is the status of the condition Scheduled.
type Status string

// The statuses. Unchanged means that the replica is left as it is.
const (
	True      Status = "True"
	False     Status = "False"
	Unknown   Status = "Unknown"
	Absent    Status = "absent"
	Unchanged Status = ""
)

// Reasons of the condition Scheduled.
const (
	ReasonScheduled           = "Scheduled"
	ReasonSchedulingFailed    = "SchedulingFailed"
	ReasonExtenderUnavailable = "ExtenderUnavailable"
	ReasonWaiting             = "WaitingForReplicatedVolume"
)

// A Placement is where a replica is after the pass, and the condition to set on it.
type Placement struct {
	ID        int
	Type      ReplicaType
	Place     Place
	Chosen    bool // the place was chosen by this pass
	Scheduled Status
	Reason    string
	Message   string
	Diagnosis *Diagnosis // nil for replicas that were not to be placed
}

// A Diagnosis says how the candidates of one replica fared.
type Diagnosis struct {
	Candidates int
	Nodes      int
	PerLVG     bool        // candidates are node×LVG, not nodes
	Excluded   []Exclusion // in the order of the rules
	BySearch   bool        // the place comes from the whole-layout search

	// Alternatives are the candidates: the chosen one, then the best others, then the excluded ones.
	// At most Input.Explain of them; Omitted counts the rest.
	Alternatives []Alternative
	Omitted      int
}

// An Exclusion is how many candidates one rule excluded.
type Exclusion struct {
	Rule  string
	Count int
}

// An Alternative is one candidate: its score and what it is made of, or the rule that excluded it.
type Alternative struct {
	Place
	Zone       string
	Chosen     bool
	ExcludedBy string // empty: it survived
	Score      int64
	Parts      []Part
	Capacity   string // "known", "given" or "unknown"; empty for nodes
	Available  int64  // bytes; only where Capacity is known
}

// A Part is what one rule added to a score.
type Part struct {
	Rule   string
	Points int64
}

// A Search says why the whole-layout search was used and what it found.
type Search struct {
	Why   string // which replica the rules left without a place, in their words
	Found bool
	Says  string
}
