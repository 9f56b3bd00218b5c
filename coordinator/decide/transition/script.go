package transition

import (
	"maps"
	"slices"

	"rvol/coordinator/model"
)

// script writes down the steps of a change. It follows what each member will be when a
// step is reached, so that going back is written as going on is: from what there is.
type script struct {
	old84 bool
	parts map[int]model.ReplicaType // of members
	ties  []int                     // replicas that are tie-breakers when nothing is under way
	steps []model.TransitionStep
}

func newScript(in Input) *script {
	s := &script{old84: in.old84(), parts: map[int]model.ReplicaType{}}
	for _, m := range in.Status.Datamesh.Members {
		s.parts[m.ID] = m.Type
	}
	for _, m := range in.Members {
		if m.Type == model.TieBreaker && !m.Deleting() {
			s.ties = append(s.ties, m.ID)
		}
	}
	return s
}

// lendVote lets a tie-breaker vote before the votes of others change. With an even number of
// votes it decides, with an odd number it does not count: among members of which some count
// it already, or still, and some do not, two halves could both have quorum. As a voter it
// counts for everybody in the same way.
func (s *script) lendVote(but int) {
	for _, id := range s.ties {
		if id != but && s.parts[id] == model.TieBreaker {
			s.add(GainVote, id)
			s.parts[id] = model.LiminalDiskful
		}
	}
}

// takeVotes makes those that voted meanwhile tie-breakers again.
func (s *script) takeVotes() {
	for _, id := range slices.Clone(s.ties) {
		if s.parts[id] == model.LiminalDiskful {
			s.add(LoseVote, id).Type = model.TieBreaker
			s.become(id, model.TieBreaker)
		}
	}
}

// add appends a step about a replica.
func (s *script) add(name string, id int) *model.TransitionStep {
	s.steps = append(s.steps, model.TransitionStep{Name: name, Replica: &id})
	return &s.steps[len(s.steps)-1]
}

// place waits until a new replica has its place and its node has prepared it.
func (s *script) place(id int, to model.ReplicaPlace) {
	step := s.add(PlaceReplica, id)
	if to != (model.ReplicaPlace{}) {
		step.To = &to
	}
}

// become notes what a member will be from the last step on.
func (s *script) become(id int, typ model.ReplicaType) {
	s.parts[id] = typ
	s.ties = slices.DeleteFunc(s.ties, func(tie int) bool { return tie == id })
	if typ == model.TieBreaker {
		s.ties = append(s.ties, id)
	}
}

// join makes a prepared replica a member of the given type.
func (s *script) join(id int, typ model.ReplicaType) {
	s.add(JoinMesh, id).Type = typ
	s.become(id, typ)
}

// gainDisk takes a replica that is prepared to an UpToDate disk. It connects as one that
// neither votes nor holds anything; then it gets its vote; then its disk: at no moment does
// the mesh count on somebody that is not there.
func (s *script) gainDisk(id int) {
	if s.old84 { // it has no diskless peers and no quorum
		s.join(id, model.Diskful)
		s.add(Synchronize, id)
		return
	}
	if s.parts[id] == "" {
		s.join(id, model.Access)
	}
	if s.parts[id] != model.LiminalDiskful {
		s.lendVote(id)
		s.add(GainVote, id)
	}
	s.add(AttachDisk, id)
	s.add(Synchronize, id)
	s.become(id, model.Diskful)
}

// loseDisk takes a member that votes to one without disk or vote, of the given type.
func (s *script) loseDisk(id int, becomes model.ReplicaType) {
	if s.parts[id] == model.Diskful {
		s.add(DetachDisk, id)
	}
	if becomes != model.TieBreaker { // its vote goes on as that of a tie-breaker
		s.lendVote(id)
	}
	s.add(LoseVote, id).Type = becomes
	s.become(id, becomes)
}

// leave takes a member out of the mesh.
func (s *script) leave(id int) {
	switch typ := s.parts[id]; {
	case typ == "":
		return
	case (typ == model.Diskful || typ == model.LiminalDiskful) && !s.old84:
		s.loseDisk(id, model.Access)
	}
	s.add(LeaveMesh, id)
	delete(s.parts, id)
}

// remove takes a replica away: out of the mesh, then from its node.
func (s *script) remove(id int) {
	s.leave(id)
	s.add(ReleaseReplica, id)
}

// raise makes a member without a disk one that has a copy.
func (s *script) raise(id int, to model.ReplicaPlace) {
	step := s.add(MakeBacking, id)
	step.Type = s.parts[id] // to go back to
	if to != (model.ReplicaPlace{}) {
		step.To = &to
	}
	s.gainDisk(id)
}

// lower makes a member with a copy one without, of the given type.
func (s *script) lower(id int, becomes model.ReplicaType) {
	if typ := s.parts[id]; typ == model.Diskful || typ == model.LiminalDiskful {
		s.loseDisk(id, becomes)
	}
	s.add(DropBacking, id).Type = becomes
}

// redundancy appends the step that raises or lowers quorum-minimum-redundancy.
func (s *script) redundancy(name string, to int) {
	s.steps = append(s.steps, model.TransitionStep{Name: name, Redundancy: to})
}

// voters are how many members will vote.
func (s *script) voters() int {
	n := 0
	for typ := range maps.Values(s.parts) {
		if typ == model.Diskful || typ == model.LiminalDiskful {
			n++
		}
	}
	return n
}
