package layout

import "fmt"

// NewDRBD84 returns the layout of a class on nodes that have DRBD 8.4 only: two peers, no diskless voter, no quorum.
// There the coordinators decide whether one of two copies may go on alone: with FTT 1 they may let it (Arbiter),
// with GMDR 1 they never do. The quorum numbers are what the coordinators keep; the kernel knows nothing of them.
func NewDRBD84(ftt, gmdr int) (Layout, error) {
	l, err := New(ftt, gmdr)
	if err != nil {
		return Layout{}, err
	}
	if l.Diskful > 2 {
		return Layout{}, &RefusedError{
			FTT: ftt, GMDR: gmdr, Reason: ReasonUnsupportedByDRBD84,
			Says: fmt.Sprintf("FTT=%d, GMDR=%d needs %d Diskful replicas, DRBD 8.4 connects 2: "+
				"use 0/0, 1/0 or 0/1, or install DRBD 9 on the nodes", ftt, gmdr, l.Diskful),
		}
	}
	if l.TieBreakers > 0 {
		l.TieBreakers, l.Arbiter = 0, true
	}
	return l, nil
}
