package storageclass_test

import (
	"fmt"
	"time"

	"rvol/coordinator/decide/storageclass"
	"rvol/coordinator/model"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// nodes makes eligible nodes from words such as "a:z1:2": name, zone, number of LVGs.
func nodes(drbd string, words ...[3]string) []model.EligibleNode {
	var out []model.EligibleNode
	for _, w := range words {
		n := model.EligibleNode{Node: w[0], Zone: w[1], NodeReady: true, AgentReady: true, DRBD: drbd}
		for i := range len(w[2]) {
			n.LVGs = append(n.LVGs, model.EligibleLVG{VG: fmt.Sprintf("vg%d", i), Ready: true})
		}
		out = append(out, n)
	}
	return out
}

// spread makes n nodes with storage in each of the zones.
func spread(drbd string, zones map[string]int) []model.EligibleNode {
	var words [][3]string
	for _, z := range []string{"", "z1", "z2", "z3", "z4", "z5"} {
		for i := range zones[z] {
			words = append(words, [3]string{fmt.Sprintf("%s-%d", z, i), z, "x"})
		}
	}
	return nodes(drbd, words...)
}

func class(ftt, gmdr int, t model.Topology) *model.Class {
	c := &model.Class{
		FTT: ftt, GMDR: gmdr, Topology: t, VolumeAccess: model.AccessAny, Pool: "p", Rollout: model.RolloutRollingUpdate, RolloutMax: 2,
		Conflict: model.ConflictRollingRepair, ConflictMax: 1, OnNoQuorum: "suspend-io", Wipe: "none",
	}
	c.Name, c.Generation = "r", 1
	return c
}

// input is a class over a Ready pool.
func input(c *model.Class, eligible []model.EligibleNode) storageclass.Input {
	p := &model.Pool{Storage: model.Storage{Type: model.LVM}, SystemNetworks: []string{"default"}}
	p.Name = "p"
	st := &model.PoolStatus{
		EligibleNodes: eligible, EligibleNodesRevision: 4,
		Conditions: model.Conditions{{Type: "Ready", Status: model.True, Reason: "Ready", Message: "so many eligible nodes"}},
	}
	st.Name = "p"
	return storageclass.Input{Class: c, PoolName: "p", Pool: p, PoolStatus: st, Now: now}
}

// volume is a formed volume that has seen and runs the given generations.
func volume(name string, seen, runs int64, conditions ...model.Condition) storageclass.Volume {
	vol, vs := &model.Volume{Class: "r"}, &model.VolumeStatus{Formed: true, ConfigurationObserved: seen, ConfigurationGeneration: runs, Conditions: conditions}
	vol.Name, vs.Name = name, name
	vs.Configuration = &model.Configuration{Pool: "p"}
	return storageclass.Volume{Volume: vol, Status: vs}
}

func is(kind string, s model.Status) model.Condition { return model.Condition{Type: kind, Status: s} }

var (
	ready      = is("ConfigurationReady", model.True)
	stale      = is("ConfigurationReady", model.False)
	satisfied  = is("SatisfyEligibleNodes", model.True)
	inConflict = is("SatisfyEligibleNodes", model.False)
)
