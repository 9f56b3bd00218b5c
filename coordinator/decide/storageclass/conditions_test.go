package storageclass_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
)

// change is one fact of a world that differs from a class 1/1 over three nodes, without volumes.
type change func(*storageclass.Input)

func withVolumes(vs ...storageclass.Volume) change {
	return func(in *storageclass.Input) {
		in.Volumes = vs
		in.Standing = standing(1, &model.Configuration{FTT: 1, GMDR: 1, Pool: "p"})
	}
}

func standing(generation int64, c *model.Configuration) *model.ClassStatus {
	st := &model.ClassStatus{ConfigurationGeneration: generation, Configuration: c}
	st.Name = "r"
	return st
}

func both(cs ...change) change {
	return func(in *storageclass.Input) {
		for _, c := range cs {
			c(in)
		}
	}
}

func poolSays(s model.Status, reason, message string) change {
	return func(in *storageclass.Input) {
		in.PoolStatus.Conditions = model.Conditions{{Type: "Ready", Status: s, Reason: reason, Message: message}}
	}
}

func rolloutIs(s string) change  { return func(in *storageclass.Input) { in.Class.Rollout = s } }
func conflictIs(s string) change { return func(in *storageclass.Input) { in.Class.Conflict = s } }

// Every status and reason of each condition, the first fact that calls for it, and what it tells people.
func TestConditions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		condition string
		name      string
		change    change
		status    model.Status
		reason    string
		says      string
	}{
		{"StoragePoolReady", "the pool is ready", both(), model.True, "Ready", "so many eligible nodes"},
		{"StoragePoolReady", "there is no pool", func(in *storageclass.Input) { in.Pool = nil }, model.False, "StoragePoolNotFound", "pool p does not exist"},
		{"StoragePoolReady", "the pool has no status", func(in *storageclass.Input) { in.PoolStatus = nil }, model.Unknown, "Pending", "not been looked at"},
		{"StoragePoolReady", "the pool has no Ready condition", func(in *storageclass.Input) { in.PoolStatus.Conditions = nil }, model.Unknown, "Pending", "not been looked at"},
		{"StoragePoolReady", "the pool misses a group", poolSays(model.False, "LVMVolumeGroupNotFound", "no node offers vg9"), model.False, "LVMVolumeGroupNotFound", "no node offers vg9"},
		{"StoragePoolReady", "the pool's group is unfit", poolSays(model.False, "InvalidLVMVolumeGroup", "no tp"), model.False, "InvalidLVMVolumeGroup", "no tp"},
		{"StoragePoolReady", "the pool cannot read its selector", poolSays(model.False, "InvalidNodeLabelSelector", "bad"), model.False, "InvalidNodeLabelSelector", "bad"},

		{"Ready", "the nodes can hold it", both(), model.True, "Ready", "have 3 nodes, 3 with disks"},
		{"Ready", "they cannot", func(in *storageclass.Input) { in.Class.FTT = 2 }, model.False, "InsufficientEligibleNodes", "requires at least 5 nodes, have 3 (2 missing) and requires at least 4 nodes with disks, have 3 (1 missing)"},
		{"Ready", "nothing could", func(in *storageclass.Input) { in.Class.GMDR = 3 }, model.False, "InvalidConfiguration", "GMDR is 3"},
		{"Ready", "DRBD 8.4 could not", func(in *storageclass.Input) { in.PoolStatus.EligibleNodes = spread("8.4", map[string]int{"": 3}) }, model.False, "InvalidConfiguration", "DRBD 8.4 connects 2"},
		{"Ready", "the pool is not ready", poolSays(model.False, "LVMVolumeGroupNotFound", "no node offers vg9"), model.False, "WaitingForStoragePool", "no node offers vg9"},
		{"Ready", "there is no pool", func(in *storageclass.Input) { in.Pool = nil }, model.False, "WaitingForStoragePool", "does not exist"},
		{"Ready", "the pool has not been looked at", func(in *storageclass.Input) { in.PoolStatus = nil }, model.False, "WaitingForStoragePool", "not been looked at"},

		{"ConfigurationRolledOut", "no volumes", both(), model.True, "RolledOutToAllVolumes", ""},
		{"ConfigurationRolledOut", "all run it", withVolumes(volume("a", 1, 1, ready)), model.True, "RolledOutToAllVolumes", ""},
		{"ConfigurationRolledOut", "one is without a verdict", withVolumes(volume("a", 1, 1)), model.True, "RolledOutToAllVolumes", ""},
		{"ConfigurationRolledOut", "one has not seen it", withVolumes(volume("a", 7, 7, ready), volume("b", 1, 1, ready)), model.Unknown, "NewConfigurationNotYetObserved", "1 of 2 volumes have not seen generation 1 yet: a"},
		{"ConfigurationRolledOut", "one has not seen it, one is behind", withVolumes(volume("a", 7, 7, ready), volume("b", 1, 7, stale)), model.Unknown, "NewConfigurationNotYetObserved", "1 of 2"},
		{"ConfigurationRolledOut", "one is behind", withVolumes(volume("a", 1, 7, stale), volume("b", 1, 1, ready)), model.False, "ConfigurationRolloutInProgress", "1 of 2 volumes do not run the configuration in force; 2 at a time; next a"},
		{"ConfigurationRolledOut", "one is behind and stays", both(withVolumes(volume("a", 1, 7, stale)), rolloutIs("NewVolumesOnly")), model.False, "ConfigurationRolloutDisabled", "1 of 1 volumes do not run the configuration in force; NewVolumesOnly"},
		{"ConfigurationRolledOut", "none is behind with NewVolumesOnly", both(withVolumes(volume("a", 1, 1, ready)), rolloutIs("NewVolumesOnly")), model.True, "RolledOutToAllVolumes", ""},

		{"VolumesSatisfyEligibleNodes", "no volumes", both(), model.True, "AllVolumesSatisfy", ""},
		{"VolumesSatisfyEligibleNodes", "all do", withVolumes(volume("a", 1, 1, satisfied)), model.True, "AllVolumesSatisfy", ""},
		{"VolumesSatisfyEligibleNodes", "one is without a verdict", withVolumes(volume("a", 1, 1)), model.True, "AllVolumesSatisfy", ""},
		{"VolumesSatisfyEligibleNodes", "two do not", withVolumes(volume("a", 1, 1, inConflict), volume("b", 1, 1, inConflict)), model.False, "ConflictResolutionInProgress", "2 of 2 volumes have replicas on nodes that are not eligible; 1 at a time; next a; 1 waiting"},
		{"VolumesSatisfyEligibleNodes", "one does not and stays", both(withVolumes(volume("a", 1, 1, inConflict)), conflictIs("Manual")), model.False, "ManualConflictResolution", "Manual: they stay as they are"},
		{"VolumesSatisfyEligibleNodes", "none is in conflict with Manual", both(withVolumes(volume("a", 1, 1, satisfied)), conflictIs("Manual")), model.True, "AllVolumesSatisfy", ""},
	} {
		t.Run(tc.condition+": "+tc.name, func(t *testing.T) {
			t.Parallel()
			in := input(class(1, 1, model.TopologyIgnored), spread("9", map[string]int{"": 3}))
			tc.change(&in)
			got, ok := storageclass.Next(in).Conditions.Get(tc.condition)
			if !ok || got.Status != tc.status || got.Reason != tc.reason || !strings.Contains(got.Message, tc.says) {
				t.Errorf("got %s %s %q\nwant %s %s %q", got.Status, got.Reason, got.Message, tc.status, tc.reason, tc.says)
			}
			if got.ObservedGeneration != in.Class.Generation {
				t.Errorf("it is about generation %d", got.ObservedGeneration)
			}
		})
	}
}

func TestTheConfigurationInForceStaysUntilTheNextCanBe(t *testing.T) {
	t.Parallel()
	in := input(class(1, 0, model.TopologyIgnored), spread("9", map[string]int{"": 3}))
	first := storageclass.Next(in)
	want := &model.Configuration{
		FTT: 1, Topology: "Ignored", VolumeAccess: "Any", Pool: "p", PoolType: model.LVM, SystemNetworks: []string{"default"},
		OnNoQuorum: "suspend-io", Wipe: "none",
	}
	if diff := cmp.Diff(want, first.Configuration); diff != "" || first.ConfigurationGeneration != 1 || first.EligibleNodesRevision != 4 {
		t.Fatalf("generation %d, revision %d, %s", first.ConfigurationGeneration, first.EligibleNodesRevision, diff)
	}

	in.Standing = first
	in.Class.FTT, in.Class.GMDR, in.Class.Generation, in.Now = 2, 2, 2, now.Add(time.Hour)
	in.PoolStatus.EligibleNodesRevision = 5
	refused := storageclass.Next(in)
	if diff := cmp.Diff(want, refused.Configuration); diff != "" || refused.ConfigurationGeneration != 1 || refused.EligibleNodesRevision != 4 {
		t.Errorf("generation %d, revision %d, %s", refused.ConfigurationGeneration, refused.EligibleNodesRevision, diff)
	}
	if refused.PoolBasedOnGeneration != 2 {
		t.Errorf("the pool is that of generation %d", refused.PoolBasedOnGeneration)
	}
	c, _ := refused.Conditions.Get("Ready")
	says := "FTT=2, GMDR=2 (5D): requires at least 5 nodes, have 3 (2 missing) and requires at least 5 nodes with disks, have 3 (2 missing)" +
		"; generation 1 stays in force without FTT 1 -> 2, GMDR 0 -> 2"
	if c.Message != says || !c.LastTransition.Equal(in.Now) {
		t.Errorf("says %q at %v\nwant %q", c.Message, c.LastTransition, says)
	}

	in.Standing, in.PoolStatus.EligibleNodes = refused, spread("9", map[string]int{"": 5})
	if got := storageclass.Next(in); got.Configuration.FTT != 2 || got.ConfigurationGeneration != 2 || got.EligibleNodesRevision != 5 {
		t.Errorf("got %+v, generation %d", got.Configuration, got.ConfigurationGeneration)
	}

	in.Standing, in.PoolStatus.EligibleNodes = first, spread("9", map[string]int{"": 1})
	in.Class.FTT, in.Class.GMDR, in.Class.Generation = 1, 0, 1
	c, _ = storageclass.Next(in).Conditions.Get("Ready")
	if !strings.HasSuffix(c.Message, "; generation 1 stays in force") {
		t.Errorf("nothing differs, yet it says %q", c.Message)
	}
}

func TestTheSameWorldGivesTheSameStatus(t *testing.T) {
	t.Parallel()
	in := input(class(1, 1, model.TopologyIgnored), spread("9", map[string]int{"": 3}))
	withVolumes(volume("a", 1, 7, stale, inConflict), volume("b", 1, 1, ready, satisfied))(&in)
	first := storageclass.Next(in)
	in.Standing, in.Now = first, now.Add(time.Hour)
	a, errA := model.Encode(first)
	b, errB := model.Encode(storageclass.Next(in))
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%v %v\n%s\n%s", errA, errB, a, b)
	}
}
