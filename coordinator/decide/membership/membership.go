package membership

import "fmt"

// Member is one coordinator as the leader sees it.
type Member struct {
	Name  string
	Voter bool
	Alive bool // it answered lately
}

// Refuse says why a member may not be removed; empty: it may.
func Refuse(members []Member, name string) string {
	voters, alive := 0, 0
	for _, m := range members {
		if m.Name == name || !m.Voter {
			continue
		}
		voters++
		if m.Alive {
			alive++
		}
	}
	need := voters/2 + 1
	if voters > 0 && alive >= need {
		return ""
	}
	return fmt.Sprintf("of the %d others that vote %d would answer, and %d are needed to agree on anything", voters, alive, need)
}

// Dead names the first member that is dead and may be removed with at least so many
// voters left; empty: none.
func Dead(members []Member, minimum int) string {
	voters := 0
	for _, m := range members {
		if m.Voter {
			voters++
		}
	}
	for _, m := range members {
		if m.Alive {
			continue
		}
		left := voters
		if m.Voter {
			left--
		}
		if left >= minimum && Refuse(members, m.Name) == "" {
			return m.Name
		}
	}
	return ""
}
