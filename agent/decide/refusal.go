package decide

import "fmt"

// A Refusal is why something cannot be done.
type Refusal struct {
	Class    string
	Text     string // with the next step for people
	Definite bool   // waiting will not cure it
}

// The classes of refusals.
const (
	NoSpace = "no-space"
	NoTool  = "no-tool"
	InUse   = "in-use"
	Foreign = "foreign"
	Stuck   = "stuck"
	Refused = "refused"
	Other   = "other"
)

// Error gives the text.
func (r *Refusal) Error() string { return r.Text }

func refuse(class, format string, args ...any) *Refusal {
	return &Refusal{Class: class, Text: fmt.Sprintf(format, args...)}
}

func refuseForGood(class, format string, args ...any) *Refusal {
	r := refuse(class, format, args...)
	r.Definite = true
	return r
}
