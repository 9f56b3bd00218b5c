package cli_test

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "rvol/proto/admin/v1"
)

const (
	minute = time.Minute
	gib    = int64(1) << 30
)

// now is when the tests run commands.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at is so long before now.
func at(ago time.Duration) *timestamppb.Timestamp { return timestamppb.New(now.Add(-ago)) }

func newMeta(name string) *adminv1.Meta {
	return &adminv1.Meta{Name: name, Uid: "uid-" + name, Generation: 1, Revision: 7, CreatedAt: at(90 * minute)}
}

// world is what the fake answers from.
type world struct {
	cluster     *adminv1.ClusterStatus
	nodes       []*adminv1.Node
	lvgs        []*adminv1.LVG
	pools       []*adminv1.Pool
	classes     []*adminv1.Class
	volumes     []*adminv1.Volume
	attachments []*adminv1.Attachment
	operations  []*adminv1.Operation
	tokens      []*adminv1.Token
	events      []*adminv1.Event
	bundle      []*adminv1.BundlePart
	bundleEnds  error // of the stream
}

func (w world) replicas() []*adminv1.Replica {
	var list []*adminv1.Replica
	for _, v := range w.volumes {
		list = append(list, v.GetReplicas()...)
	}
	return list
}

func sampleWorld() world {
	db1 := sampleVolume("db-1", "ready", sampleReplica("db-1", 0, "n1"), sampleReplica("db-1", 1, "n2"))
	db1.CopiesUpToDate, db1.Quorum, db1.QuorumMinimumRedundancy = 2, 2, 1
	attached := &adminv1.Attachment{
		Meta: newMeta("db-1/n1"), Volume: "db-1", Node: "n1", Granted: true, Device: "/dev/rvol/db-1",
		Conditions: []*adminv1.Condition{{Type: "Attached", Status: "True"}, {Type: "Ready", Status: "True"}},
	}
	db1.Replicas[0].Role, db1.Replicas[0].Open = "Primary", true
	db1.Attachments = []*adminv1.Attachment{attached}
	db2 := sampleVolume("db-2", "syncing", sampleReplica("db-2", 0, "n2"), sampleReplica("db-2", 1, "n3"))
	db2.CopiesUpToDate, db2.Message = 1, "n3 is being synchronized"
	db2.Replicas[1].Disk, db2.Replicas[1].SyncPercent = "Inconsistent", new(42.5)
	return world{
		cluster: sampleCluster(), nodes: sampleNodes(), lvgs: sampleLVGs(), pools: samplePools(), classes: sampleClasses(),
		volumes: []*adminv1.Volume{db1, db2}, attachments: []*adminv1.Attachment{attached},
		operations: []*adminv1.Operation{{
			Meta: newMeta("op-1"), Type: "CreateNewUUID", Node: "n1", Volume: "db-1", Phase: "Succeeded",
			Result: "new-current-uuid done", DoneAt: at(89 * minute),
		}},
		tokens: []*adminv1.Token{
			{Meta: newMeta("t1"), Kind: "node", Subject: "n4", ExpiresAt: at(-5 * minute)},
			{Meta: newMeta("t2"), Kind: "coordinator", ExpiresAt: at(time.Hour), Redeemed: true},
			{Meta: newMeta("t3"), Kind: "node", ExpiresAt: at(time.Hour)},
		},
		events: []*adminv1.Event{
			{Index: 7, Time: at(90 * minute), Actor: "admin/anna", Cause: "create volume db-1", Objects: []string{"volume/db-1"}, Kind: "change"},
			{Index: 8, Time: at(89 * minute), Actor: "controller/scheduling", Cause: "place db-1/0 on node n1, vg0", Kind: "placement"},
		},
	}
}

func sampleVolume(name, state string, replicas ...*adminv1.Replica) *adminv1.Volume {
	return &adminv1.Volume{
		Meta: newMeta(name), Devices: []*adminv1.VolumeDevice{{Size: 10 * gib}}, Class: "r2", MaxAttachments: 1,
		State: state, Layout: "2D", Formed: true, DatameshRevision: 3, CopiesWanted: 2, Replicas: replicas,
	}
}

func sampleReplica(volume string, id int32, node string) *adminv1.Replica {
	return &adminv1.Replica{
		Meta: newMeta(volume + "/" + string('0'+id)), Volume: volume, Id: id, Type: "Diskful", Node: node, Vg: "vg0",
		ThinPool: "tp0", Port: 17000 + id, Minors: []int32{10000 + id}, Disk: "UpToDate", Role: "Secondary", Connection: "Connected",
		Conditions: []*adminv1.Condition{{Type: "Scheduled", Status: "True", Reason: "Scheduled"}},
	}
}

func sampleCluster() *adminv1.ClusterStatus {
	return &adminv1.ClusterStatus{
		Id: "prod", Leader: "c1", Term: 4, AppliedIndex: 120, CommitIndex: 120, Incarnation: 1, Format: 1,
		StateHash: "9f2c", AnsweredBy: "c1", LeaderContact: durationpb.New(0),
		Members: []*adminv1.Member{
			{Name: "c1", RaftAddr: "10.77.0.1:7801", ApiAddr: "10.77.0.1:7800", Voter: true, Leader: true, Version: "v0.1.0"},
			{Name: "c2", RaftAddr: "10.77.0.2:7801", ApiAddr: "10.77.0.2:7800", Voter: true, Version: "v0.1.0"},
			{Name: "c3", RaftAddr: "10.77.0.3:7801", ApiAddr: "10.77.0.3:7800", Conditions: []*adminv1.Condition{
				{Type: "CaughtUp", Status: "False", Message: "40 entries behind"},
			}},
		},
	}
}

func sampleNodes() []*adminv1.Node {
	list := []*adminv1.Node{}
	for i, name := range []string{"n1", "n2", "n3"} {
		list = append(list, &adminv1.Node{
			Meta: newMeta(name), Zone: "z" + string('1'+rune(i)), Ready: true, Connected: true, StatusReason: "heartbeat received",
			StatusUpdatedBy: "heartbeat", Health: "10.77.0." + string('1'+rune(i)) + ":7175",
			StatusUpdatedAt: at(80 * minute), Addresses: map[string]string{"default": "10.77.0." + string('1'+rune(i))},
			AgentVersion: "v0.1.0", Kernel: "6.1.0", Drbd: "8.4.11", Lvm: "2.03.16", Thin: true, Replicas: 2,
		})
	}
	list[0].Meta.Labels = map[string]string{"rack": "a", "disk": "nvme"}
	list[0].Vgs = []*adminv1.NodeVG{{
		Name: "vg0", Size: 100 * gib, Free: 20 * gib, Offered: true,
		ThinPools: []*adminv1.NodeThinPool{{Name: "tp0", Size: 80 * gib, DataPercent: 12.3, MetadataPercent: 4, Offered: true}},
	}}
	list[1].Unschedulable = true
	list[2].Ready, list[2].Fenced, list[2].Connected, list[2].StatusReason = false, true, false, "nothing heard for 15s"
	list[2].StatusUpdatedBy = "monitor"
	list[2].Conditions = []*adminv1.Condition{{Type: "DRBD", Status: "False", Reason: "NoModule", Message: "modprobe drbd: not found"}}
	return list
}

func sampleLVGs() []*adminv1.LVG {
	return []*adminv1.LVG{{
		Meta: newMeta("n1/vg0"), Node: "n1", Vg: "vg0", Uuid: "kKh1Zt", OverProvisioningPercent: 200,
		Spaces: []*adminv1.PoolSpace{
			{Size: 100 * gib, Limit: 20 * gib, Foreign: 80 * gib, Free: 20 * gib},
			{
				ThinPool: "tp0", Size: 80 * gib, Limit: 160 * gib, Reserved: 10 * gib, Free: 150 * gib,
				DataPercent: new(12.3), MetadataPercent: new(4.0),
				Reservations: []*adminv1.Reservation{{
					Uid: "res-1", OwnerKind: "replica", Owner: "db-1/0", Granted: 10 * gib, Observed: 10 * gib, State: "Bound", Lv: "rvol-db-1.0.0",
				}},
			},
		},
		Conditions: []*adminv1.Condition{{Type: "Ready", Status: "True", Reason: "Reported"}},
	}}
}

func samplePools() []*adminv1.Pool {
	return []*adminv1.Pool{{
		Meta: newMeta("r2"), Storage: &adminv1.Storage{Type: "LVMThin", Vgs: []string{"vg0"}, ThinPool: "tp0"},
		NotReadyGrace: durationpb.New(10 * minute), Generated: true, UsedBy: []string{"r2"},
		EligibleNodes: []*adminv1.EligibleNode{
			{Node: "n1", Zone: "z1", NodeReady: true, AgentReady: true, Drbd: "8.4", Lvgs: []*adminv1.EligibleLVG{{Vg: "vg0", ThinPool: "tp0", Ready: true}}},
			{Node: "n2", Zone: "z2", NodeReady: true, AgentReady: true, Unschedulable: true, Drbd: "8.4", Lvgs: []*adminv1.EligibleLVG{{Vg: "vg0", ThinPool: "tp0"}}},
		},
	}}
}

func sampleClasses() []*adminv1.Class {
	return []*adminv1.Class{{
		Meta: newMeta("r2"), Ftt: 1, Topology: "Ignored", VolumeAccess: "Any", PoolName: "r2", Layout: "2D",
		Storage: &adminv1.Storage{Type: "LVMThin", Vgs: []string{"vg0"}, ThinPool: "tp0"},
		Rollout: "RollingUpdate", Conflict: "RollingRepair", RepairAfter: durationpb.New(time.Hour), OnNoQuorum: "suspend-io", Wipe: "none",
		Volumes:    &adminv1.VolumeCounts{Total: 2, Aligned: new(int32(2))},
		Conditions: []*adminv1.Condition{{Type: "Ready", Status: "True"}},
	}}
}
