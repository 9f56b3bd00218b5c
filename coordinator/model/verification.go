package model

import "time"

// Verification is a comparison of all copies of a volume with one of them, and what came of
// it. It changes when it begins, with each copy, and when it ends.
type Verification struct {
	Phase     VerificationPhase `json:"phase"`
	Source    int               `json:"source"` // id of the copy that the others are compared with
	Repair    bool              `json:"repair,omitempty"`
	StartedAt time.Time         `json:"started_at"`
	EndedAt   time.Time         `json:"ended_at,omitzero"`
	Copies    []VerifiedCopy    `json:"copies"`            // all but the source, by id
	Message   string            `json:"message,omitempty"` // why it ended before all was compared
}

// VerificationPhase tells how far a verification has come.
type VerificationPhase string

// The phases of a verification.
const (
	Comparing VerificationPhase = "Comparing"
	Repairing VerificationPhase = "Repairing"
	Verified  VerificationPhase = "Done"
)

// VerifiedCopy is how one copy stood up to the comparison.
type VerifiedCopy struct {
	ID        int    `json:"id"`
	Compared  bool   `json:"compared,omitempty"`
	OutOfSync int64  `json:"out_of_sync,omitempty"` // bytes in which it differed
	Repaired  bool   `json:"repaired,omitempty"`
	Message   string `json:"message,omitempty"` // why it could not be compared or repaired
}

// Active says that a verification is under way.
func (v *Verification) Active() bool { return v != nil && v.Phase != Verified }
