package adoption

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/drbd"
)

// Replica is one node's part of the volume, with what its node says now.
type Replica struct {
	inventory.Kept

	Node     string
	Zone     string
	Resource inventory.Resource // as its kernel has it; zero: it is down
	LVs      map[string]LV      // by reservation uid
}

// LV is a logical volume that the node reports.
type LV struct {
	inventory.LV

	Pool   model.PoolID
	VGName string
	Orphan *model.Reservation // that it is charged by; nil: none yet
}

// Input is all that is known of the volume.
type Input struct {
	Name          string
	Class         string
	Configuration *model.Configuration // of the class
	Generation    int64                // of that configuration
	Now           time.Time
	Replicas      []Replica
}

// Adopted is what the state is to say.
type Adopted struct {
	Put    []model.Object
	Delete []model.Object // the orphans that are none any more
}

// Adopt makes the records of a volume, or says why it cannot.
func Adopt(in Input) (Adopted, error) {
	if err := agree(in); err != nil {
		return Adopted{}, err
	}
	slices.SortFunc(in.Replicas, func(a, b Replica) int { return cmp.Compare(a.ID, b.ID) })
	first := in.Replicas[0]
	vol := &model.Volume{Class: in.Class, MaxAttachments: 1}
	vol.Name, vol.UID, vol.CreatedAt = in.Name, first.VolumeUID, in.Now
	vs := &model.VolumeStatus{
		Configuration: in.Configuration, ConfigurationGeneration: in.Generation, ConfigurationObserved: in.Generation,
		DRBD: first.DRBD, Formed: true,
	}
	vs.Name = in.Name
	secret := &model.Secret{Value: string(first.Secret)}
	secret.Name, secret.CreatedAt = model.VolumeSecret(in.Name), in.Now
	mesh := &vs.Datamesh
	mesh.Quorum, mesh.QuorumMinimumRedundancy, mesh.SystemNetworks = first.Quorum, first.MinimumRedundancy, in.Configuration.SystemNetworks
	for _, d := range first.Devices {
		mesh.Devices = append(mesh.Devices, model.VolumeDevice{Number: d.Number, Size: d.Size})
	}
	vol.Devices = slices.Clone(mesh.Devices)
	out := Adopted{Put: []model.Object{vol, vs, secret}}
	mesh.TwoPrimaries = first.TwoPrimaries
	if mesh.TwoPrimaries {
		vol.MaxAttachments = 2
	}
	for _, r := range in.Replicas {
		mesh.Revision, vs.SoleRound, vs.NextID = max(mesh.Revision, r.Revision+1), max(vs.SoleRound, r.SoleRound), max(vs.NextID, r.ID+1)
		m, err := member(r)
		if err != nil {
			return Adopted{}, err
		}
		mesh.Members = append(mesh.Members, m)
		if err := out.replica(in, r); err != nil {
			return Adopted{}, err
		}
	}
	return out, nil
}

// agree makes sure that the agents speak of one and the same volume, and that nobody is missing.
func agree(in Input) error {
	if len(in.Replicas) == 0 {
		return fmt.Errorf("%w: no agent remembers having held it: it cannot be adopted", model.ErrNotFound)
	}
	there := map[int]bool{}
	for _, r := range in.Replicas {
		there[r.ID] = true
	}
	first := in.Replicas[0]
	if first.DRBD == "8.4" && len(in.Replicas) == 2 && apart(in.Replicas) {
		return fmt.Errorf("%w: its two copies do not see each other, and nobody knows which is newer: let them connect first", model.ErrBusy)
	}
	for _, r := range in.Replicas {
		if err := alike(first, r); err != nil {
			return err
		}
		for _, p := range r.Peers {
			if !there[p.ID] {
				return fmt.Errorf("%w: node %s had replica %d of it, and its agent does not report it: wait for that node", model.ErrBusy, p.Node, p.ID)
			}
		}
	}
	return nil
}

// alike makes sure that two agents speak of the same volume, and that it has data.
func alike(first, r Replica) error {
	same := slices.EqualFunc(r.Devices, first.Devices, func(a, b inventory.KeptDevice) bool { return a.Number == b.Number && a.Size == b.Size })
	switch {
	case r.VolumeUID != first.VolumeUID || r.Secret != first.Secret || r.DRBD != first.DRBD:
		return fmt.Errorf("%w: %s and %s hold different volumes of that name", model.ErrInvalid, first.Node, r.Node)
	case !r.Formed:
		return fmt.Errorf("%w: it was never formed on node %s: it has no data", model.ErrInvalid, r.Node)
	case r.Type == model.LiminalDiskful:
		return fmt.Errorf("%w: its copy on node %s was being added or removed: bring its node's resource to an end by hand", model.ErrBusy, r.Node)
	case !same:
		return fmt.Errorf("%w: its devices differ between %s and %s", model.ErrInvalid, first.Node, r.Node)
	}
	return nil
}

// apart says that neither copy serves and neither is connected.
func apart(rs []Replica) bool {
	return !slices.ContainsFunc(rs, func(r Replica) bool {
		return r.Resource.Role == drbd.Primary || len(r.Resource.Peers) > 0 && r.Resource.Peers[0].Connection == drbd.Connected
	})
}

func member(r Replica) (model.DatameshMember, error) {
	m := model.DatameshMember{ID: r.ID, Type: r.Type, Node: r.Node, HostName: r.HostName, Zone: r.Zone, Addresses: map[string]netip.AddrPort{}}
	for network, text := range r.Addresses {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return m, fmt.Errorf("%w: address %q of node %s: %w", model.ErrInvalid, text, r.Node, err)
		}
		m.Addresses[network] = netip.AddrPortFrom(a, uint16(r.Port))
	}
	return m, nil
}

// replica adds the records of one replica.
func (a *Adopted) replica(in Input, r Replica) error {
	rec := &model.Replica{Volume: in.Name, ID: r.ID, Type: r.Type, Node: r.Node, Port: r.Port}
	rec.Name, rec.UID, rec.CreatedAt = model.ReplicaName(in.Name, r.ID), r.UID, in.Now
	rec.Conditions = rec.Conditions.With(model.Condition{Type: "Scheduled", Status: model.True, Reason: "Adopted", Message: "adopted where it was"}, in.Now)
	for _, d := range r.Devices {
		rec.Devices = append(rec.Devices, model.ReplicaDevice{Number: d.Number, Minor: d.Minor, Reservation: d.Reservation})
		if d.Reservation == "" {
			continue
		}
		rec.VG, rec.ThinPool = d.VG, d.ThinPool
		lv, ok := r.LVs[d.Reservation]
		if !ok || d.LVUUID != "" && lv.UUID != d.LVUUID {
			return fmt.Errorf("%w: its LV %s/%s is not on node %s as it was", model.ErrNotFound, d.VG, d.LV, r.Node)
		}
		res := &model.Reservation{
			OwnerKind: model.OwnerReplica, Owner: rec.Name, Device: d.Number, Pool: lv.Pool, VGName: lv.VGName, ThinPool: lv.ThinPool,
			LV: lv.Name, LVUUID: lv.UUID, Granted: lv.Size, Observed: lv.Size, State: model.Bound, Imported: true,
		}
		res.Name, res.CreatedAt = d.Reservation, in.Now
		a.Put = append(a.Put, res)
		if lv.Orphan != nil {
			a.Delete = append(a.Delete, lv.Orphan)
		}
	}
	a.Put = append(a.Put, rec)
	if r.Resource.Role == drbd.Primary {
		at := &model.Attachment{Volume: in.Name, Node: r.Node, Granted: true}
		at.Name, at.CreatedAt = model.AttachmentName(in.Name, r.Node), in.Now
		a.Put = append(a.Put, at)
	}
	return nil
}
