package storageclass

import (
	"fmt"
	"slices"

	"rvol/coordinator/decide/rollout"
	"rvol/coordinator/model"
)

// Count makes the statistics of a class's volumes, the class being at the given generation. Aligned and
// StaleConfiguration are not known while any volume has yet to see that generation.
func Count(volumes []Volume, generation int64) model.VolumeCounts {
	n := model.VolumeCounts{Total: len(volumes)}
	aligned, old := 0, 0
	for _, v := range volumes {
		vs := v.Status
		if vs == nil {
			continue
		}
		if pending(vs, generation) {
			n.PendingObservation++
		}
		if vs.Conditions.Is(ConfigurationReady, model.True) && vs.Conditions.Is(SatisfyEligibleNodes, model.True) {
			aligned++
		}
		if stale(vs) {
			old++
		}
		if inConflict(vs) {
			n.InConflictWithEligibleNodes++
		}
		if vs.Configuration != nil && !slices.Contains(n.UsedPools, vs.Configuration.Pool) {
			n.UsedPools = append(n.UsedPools, vs.Configuration.Pool)
		}
	}
	slices.Sort(n.UsedPools)
	if n.PendingObservation == 0 {
		n.Aligned, n.StaleConfiguration = &aligned, &old
	}
	return n
}

// pending says that a volume has seen another generation than the one in force. One that has seen none yet takes the
// one in force when it comes up, and counts as having seen it.
func pending(vs *model.VolumeStatus, generation int64) bool {
	return vs.ConfigurationObserved != 0 && vs.ConfigurationObserved != generation
}

func stale(vs *model.VolumeStatus) bool {
	return vs != nil && vs.Conditions.Is(ConfigurationReady, model.False)
}

func inConflict(vs *model.VolumeStatus) bool {
	return vs != nil && vs.Conditions.Is(SatisfyEligibleNodes, model.False)
}

func rolledOut(class *model.Class, volumes []Volume, st *model.ClassStatus, plan rollout.Plan) model.Condition {
	c := model.Condition{Type: ConfigurationRolledOut, Status: model.False}
	n := st.Volumes
	switch {
	case n.PendingObservation > 0:
		var names []string
		for _, v := range volumes {
			if v.Status != nil && pending(v.Status, st.ConfigurationGeneration) {
				names = append(names, v.Name)
			}
		}
		c.Status, c.Reason = model.Unknown, "NewConfigurationNotYetObserved"
		c.Message = fmt.Sprintf("%d of %d volumes have not seen generation %d yet: %s",
			n.PendingObservation, n.Total, st.ConfigurationGeneration, rollout.Names(names))
	case *n.StaleConfiguration == 0:
		c.Status, c.Reason = model.True, "RolledOutToAllVolumes"
	case class.Rollout == model.RolloutNewVolumesOnly:
		c.Reason, c.Message = "ConfigurationRolloutDisabled", behind(n)+"; "+plan.String()
	default:
		c.Reason, c.Message = "ConfigurationRolloutInProgress", behind(n)+"; "+plan.String()
	}
	return c
}

func behind(n model.VolumeCounts) string {
	return fmt.Sprintf("%d of %d volumes do not run the configuration in force", *n.StaleConfiguration, n.Total)
}

func satisfies(n model.VolumeCounts, plan rollout.Plan) model.Condition {
	c := model.Condition{Type: VolumesSatisfyEligibleNodes, Status: model.False}
	if n.InConflictWithEligibleNodes == 0 {
		c.Status, c.Reason = model.True, "AllVolumesSatisfy"
		return c
	}
	c.Reason = "ConflictResolutionInProgress"
	if plan.Strategy == model.ConflictManual {
		c.Reason = "ManualConflictResolution"
	}
	c.Message = fmt.Sprintf("%d of %d volumes have replicas on nodes that are not eligible; %s", n.InConflictWithEligibleNodes, n.Total, plan)
	return c
}
