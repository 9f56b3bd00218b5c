package transition

import "rvol/coordinator/model"

// Effective is what may be relied on right now, by who is there and UpToDate: how many more
// members may fail while the volume stays usable (negative: it is not), and how many copies
// may be lost without losing what was acknowledged. False: too little is known.
func Effective(in Input) (ftt, gmdr int, known bool) {
	voters, there, good := 0, 0, 0
	for _, m := range in.mesh() {
		typ := in.part(m.ID)
		if typ != model.Diskful && typ != model.LiminalDiskful {
			continue
		}
		if !m.Known {
			return 0, 0, false
		}
		voters++
		there += b01(m.Up)
		good += b01(typ == model.Diskful && illDisk(m) == "")
	}
	if voters == 0 || !in.Status.Formed {
		return 0, 0, false
	}
	quorum, redundancy := in.needs()
	tie := b01(there%2 == 0 && voters%2 == 0 && in.tieBreakers() > 0)
	return min(there-quorum+tie, good-redundancy), min(good, redundancy) - 1, true
}

// needs is how many votes, and how many UpToDate copies, the volume needs to be used.
func (in Input) needs() (quorum, redundancy int) {
	mesh := in.Status.Datamesh
	switch {
	case in.old84() && in.Status.KeepsTwo(): // the coordinators let no copy go on alone
		return 2, 2
	case mesh.Quorum == 0: // a single copy, or the coordinators decide which goes on
		return 1, 1
	}
	return mesh.Quorum, mesh.QuorumMinimumRedundancy
}
