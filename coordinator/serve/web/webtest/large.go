package webtest

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "rvol/proto/admin/v1"
)

const gib = 1 << 30

// Large is a cluster of so many volumes of three copies on twelve nodes in three zones.
func Large(volumes int) *Cluster {
	c := New()
	var nodes []*adminv1.Node
	var lvgs []*adminv1.LVG
	for i := range 12 {
		name := fmt.Sprintf("n%d", i+1)
		nodes = append(nodes, &adminv1.Node{Meta: &adminv1.Meta{Name: name}, Zone: fmt.Sprintf("z%d", i%3+1), Ready: true, Connected: true, Drbd: "9.2.19"})
		lvgs = append(lvgs, &adminv1.LVG{Meta: &adminv1.Meta{Name: name + "/vg0"}, Node: name, Vg: "vg0", Spaces: []*adminv1.PoolSpace{
			{Size: 1000 * gib, Limit: 800 * gib, Foreign: 200 * gib, Reserved: int64(200+40*i) * gib, Free: int64(600-40*i) * gib},
		}})
	}
	c.Add(nodes, lvgs)
	for i := range volumes {
		c.Put(Volume(i, Word(i)))
	}
	for i := range 50 {
		c.Happened(&adminv1.Event{Time: timestamppb.Now(), Actor: "controller/volume", Cause: fmt.Sprintf("form vol-%04d: formed", i), Objects: []string{fmt.Sprintf("volume/vol-%04d", i)}})
	}
	return c
}

// Word is the state of the volume with a number: most are well.
func Word(i int) string {
	for _, w := range []struct {
		every int
		word  string
	}{{97, "unavailable"}, {41, "degraded"}, {31, "syncing"}, {89, "unknown"}} {
		if i%w.every == w.every-1 {
			return w.word
		}
	}
	return "ready"
}

// Volume is one of three copies, in a state.
func Volume(i int, state string) *adminv1.Volume {
	name := fmt.Sprintf("vol-%04d", i)
	v := &adminv1.Volume{
		Meta: &adminv1.Meta{Name: name}, Devices: []*adminv1.VolumeDevice{{Size: int64(1+i%64) * gib}}, Class: "r3", Layout: "3D", Formed: true,
		State: state, CopiesWanted: 3, CopiesUpToDate: 3, Quorum: 2, QuorumMinimumRedundancy: 2, EffectiveFtt: new(int32(1)), EffectiveGmdr: new(int32(1)),
	}
	if state != "ready" {
		v.CopiesUpToDate, v.Message = 2, fmt.Sprintf("2 of 3 copies are UpToDate; %s/2 is not", name)
	}
	for id := range int32(3) {
		r := &adminv1.Replica{
			Meta: &adminv1.Meta{Name: fmt.Sprintf("%s/%d", name, id)}, Volume: name, Id: id, Type: "Diskful", Node: fmt.Sprintf("n%d", (i*5+int(id)*4)%12+1),
			Vg: "vg0", Disk: "UpToDate", Role: "Secondary", Connection: "Connected",
		}
		for other := range int32(3) {
			if other != id {
				r.Peers = append(r.Peers, &adminv1.ReplicaPeer{Id: other, Connection: "Connected", Replication: "Established", Disk: "UpToDate"})
			}
		}
		v.Replicas = append(v.Replicas, r)
	}
	v.Replicas[0].Role = "Primary"
	v.Attachments = []*adminv1.Attachment{{Volume: name, Node: v.Replicas[0].GetNode(), Granted: true}}
	if state == "syncing" {
		Sync(v, 42.5)
	}
	return v
}

// Sync lets the third copy of a volume be behind.
func Sync(v *adminv1.Volume, percent float64) {
	v.Replicas[2].Disk, v.Replicas[2].SyncPercent = "Inconsistent", &percent
	v.Replicas[2].Peers[0] = &adminv1.ReplicaPeer{Id: 0, Connection: "Connected", Replication: "SyncTarget", Disk: "UpToDate", SyncPercent: &percent, OutOfSync: gib}
}
