package transition

import (
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/model"
)

// GainVote makes a connected member without disk one that votes; LoseVote takes the vote
// from one whose disk is detached. The quorum follows in the same revision: on each node it
// is raised before the vote counts, and lowered after it does not.
const (
	GainVote = "GainVote"
	LoseVote = "LoseVote"
)

var gainVote = step{
	name: GainVote, guards: []guard{connectedSubject}, enter: gain,
	concerns: everybody, confirm: applied, slow: time.Minute,
}

var loseVote = step{
	name: LoseVote, guards: []guard{votesStay}, enter: lose,
	concerns: everybody, confirm: applied, slow: time.Minute,
}

// connectedSubject protects the quorum of the others: one more vote that is not there would
// count as one that failed.
func connectedSubject(a at) string {
	m := a.subject()
	if !m.Known {
		return fmt.Sprintf("replica %s: no report of its node", name(m))
	}
	if why := unconnected(a.Input, m); why != "" {
		return fmt.Sprintf("replica %s: %s", name(m), why)
	}
	return ""
}

// votesStay protects the volume's use: with the vote gone, those that are there must be
// enough. Else losing the vote would freeze what works.
func votesStay(a at) string {
	id := *a.stored().Replica
	present, voters := 0, 0
	for _, m := range a.mesh() {
		if typ := a.part(m.ID); m.ID == id || typ != model.Diskful && typ != model.LiminalDiskful {
			continue
		}
		voters++
		present += b01(m.Known && m.Up)
	}
	need := majority(voters)
	if voters%2 == 0 && a.tieBreakers() > 0 {
		need--
	}
	if voters > 0 && present < need {
		return fmt.Sprintf("%d of the %d copies that stay are there, %d are needed", present, voters, need)
	}
	return ""
}

// tieBreakers are the members that keep a tie from being one, and are there.
func (in Input) tieBreakers() int {
	n := 0
	for _, m := range in.mesh() {
		n += b01(in.part(m.ID) == model.TieBreaker && m.Known && m.Up)
	}
	return n
}

// ChangePart makes an access replica a tie-breaker, or the other way round.
const ChangePart = "ChangePart"

var changePart = step{
	name: ChangePart, guards: []guard{notInUse}, enter: changePartTo, concerns: everybody, confirm: applied, slow: time.Minute,
}

func changePartTo(a at, d *draft) {
	r := model.Clone(a.subject().Replica)
	r.Type = a.stored().Type
	d.put = append(d.put, r)
	d.become(r.ID, r.Type)
	d.revise()
}

func majority(voters int) int { return voters/2 + 1 }

func gain(a at, d *draft) {
	d.become(*a.stored().Replica, model.LiminalDiskful)
	d.setQuorum(a)
	d.revise()
}

func lose(a at, d *draft) {
	d.become(*a.stored().Replica, a.stored().Type)
	d.setQuorum(a)
	d.revise()
}

// become changes what a member is.
func (d *draft) become(id int, typ model.ReplicaType) {
	members := slices.Clone(d.status.Datamesh.Members)
	for i := range members {
		if members[i].ID == id {
			members[i].Type = typ
		}
	}
	d.status.Datamesh.Members = members
}

// setQuorum makes the quorum the majority of those that vote, so that of two parts of the
// mesh never both have it. A single voter needs none, and DRBD 8.4 knows none.
func (d *draft) setQuorum(a at) {
	mesh := &d.status.Datamesh
	voters := mesh.Voters()
	if a.old84() || voters <= 1 {
		mesh.Quorum, mesh.QuorumMinimumRedundancy = 0, 0
		return
	}
	mesh.Quorum = majority(voters)
	mesh.QuorumMinimumRedundancy = max(1, mesh.QuorumMinimumRedundancy)
}
