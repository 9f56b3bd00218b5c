package model

import "unique"

// shareWords lets the objects there are most of share the words that they have in common:
// names of nodes and groups, states, conditions. It changes nothing that can be seen.
func shareWords(o Object) {
	switch o := o.(type) {
	case *Replica:
		share(&o.Node, &o.VG, &o.ThinPool)
		o.Type = ReplicaType(shared(string(o.Type)))
		for i := range o.Conditions {
			c := &o.Conditions[i]
			share(&c.Type, &c.Reason, &c.Message)
			c.Status = Status(shared(string(c.Status)))
		}
	case *Reservation:
		share(&o.OwnerKind, &o.Pool.Node, &o.Pool.VG, &o.Pool.ThinLV, &o.VGName, &o.ThinPool)
		o.State = ReservationState(shared(string(o.State)))
	}
}

func share(words ...*string) {
	for _, w := range words {
		*w = shared(*w)
	}
}

func shared(word string) string {
	if word == "" {
		return ""
	}
	return unique.Make(word).Value()
}
