package storageclass

import (
	"errors"
	"fmt"
	"strings"

	"rvol/coordinator/decide/eligibility"
	"rvol/coordinator/decide/layout"
	"rvol/coordinator/decide/rollout"
	"rvol/coordinator/model"
)

// poolReady copies the pool's Ready condition, or says why there is none.
func poolReady(in Input) model.Condition {
	c := model.Condition{Type: StoragePoolReady}
	if in.Pool == nil {
		c.Status, c.Reason, c.Message = model.False, "StoragePoolNotFound", "pool "+in.PoolName+" does not exist"
		return c
	}
	c.Status, c.Reason, c.Message = model.Unknown, "Pending", "pool "+in.PoolName+" has not been looked at yet"
	if in.PoolStatus == nil {
		return c
	}
	if r, ok := in.PoolStatus.Conditions.Get(Ready); ok {
		c.Status, c.Reason, c.Message = r.Status, r.Reason, r.Message
	}
	return c
}

// configure puts the class's configuration in force when its eligible nodes can hold it, and returns the Ready condition.
func configure(in Input, pool model.Condition, st *model.ClassStatus) model.Condition {
	c := model.Condition{Type: Ready, Status: model.False}
	if pool.Status != model.True {
		c.Reason, c.Message = "WaitingForStoragePool", pool.Message+standing(in, st)
		return c
	}
	v := Fits(in.Class, in.PoolStatus.EligibleNodes)
	if !v.Valid {
		c.Reason, c.Message = v.Reason, v.Message+standing(in, st)
		return c
	}
	c.Status, c.Reason, c.Message = model.True, "Ready", v.Message
	st.EligibleNodesRevision = in.PoolStatus.EligibleNodesRevision
	if st.ConfigurationGeneration != in.Class.Generation || st.Configuration == nil || st.Configuration.Pool != in.PoolName {
		st.Configuration, st.ConfigurationGeneration = Configuration(in.Class, in.Pool), in.Class.Generation
	}
	return c
}

// standing says which configuration stays in force while a newer one is refused, and what would change.
func standing(in Input, st *model.ClassStatus) string {
	if st.Configuration == nil {
		return ""
	}
	s := fmt.Sprintf("; generation %d stays in force", st.ConfigurationGeneration)
	pool := in.Pool
	if pool == nil {
		pool = &model.Pool{Storage: model.Storage{Type: st.Configuration.PoolType}, SystemNetworks: st.Configuration.SystemNetworks}
		pool.Name = in.PoolName
	}
	if diff := rollout.Differences(st.Configuration, Configuration(in.Class, pool)); len(diff) > 0 {
		s += " without " + strings.Join(diff, ", ")
	}
	return s
}

// Fits says whether the eligible nodes can hold the class, and what is missing.
func Fits(c *model.Class, nodes []model.EligibleNode) eligibility.Verdict {
	l, err := Layout(c, nodes)
	if refused, ok := errors.AsType[*layout.RefusedError](err); ok {
		return eligibility.Verdict{Reason: eligibility.ReasonInvalidConfiguration, Message: refused.Error()}
	}
	facts := make([]eligibility.ClassNode, 0, len(nodes))
	for _, n := range nodes {
		facts = append(facts, eligibility.ClassNode{Name: n.Node, Zone: n.Zone, Disks: len(n.LVGs)})
	}
	return eligibility.Validate(layout.Topology(c.Topology), l, facts)
}

// Configuration is the class as volumes run it, in a pool.
func Configuration(c *model.Class, p *model.Pool) *model.Configuration {
	return &model.Configuration{
		FTT: c.FTT, GMDR: c.GMDR, Topology: c.Topology, VolumeAccess: c.VolumeAccess,
		Pool: p.Name, PoolType: p.Type, SystemNetworks: p.SystemNetworks,
		OnNoQuorum: c.OnNoQuorum, Wipe: c.Wipe, TrustZeroed: c.TrustZeroed, DRBD: c.DRBD,
	}
}

// Layout is the layout of a class on the given nodes: where DRBD 8.4 is all they have, what 8.4 can do.
func Layout(c *model.Class, nodes []model.EligibleNode) (layout.Layout, error) {
	if DRBD(c.FTT, c.GMDR, nodes) == "8.4" {
		return layout.NewDRBD84(c.FTT, c.GMDR)
	}
	return layout.New(c.FTT, c.GMDR)
}

// DRBD is the major that a new volume of this layout gets: 9 where enough nodes with storage have it, else 8.4. All
// replicas of a volume run one major.
func DRBD(ftt, gmdr int, nodes []model.EligibleNode) string {
	with := map[string]int{}
	for _, n := range nodes {
		if len(n.LVGs) > 0 {
			with[n.DRBD]++
		}
	}
	if with["9"] >= layout.Formula(ftt, gmdr).Diskful || with["8.4"] == 0 {
		return "9"
	}
	return "8.4"
}
