package control

import (
	"slices"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// count fills in the volume statistics and the two conditions that follow from them. Aligned
// and StaleConfiguration are unknown while any volume has yet to observe the configuration.
func count(w World, class *model.Class, st *model.ClassStatus) {
	n := model.VolumeCounts{}
	aligned, stale := 0, 0
	for vol := range w.State.VolumesOfClass(class.Name) {
		n.Total++
		vs, ok := state.Get[*model.VolumeStatus](w.State, vol.Name)
		if !ok {
			continue
		}
		if o := vs.ConfigurationObserved; o != 0 && o != st.ConfigurationGeneration {
			n.PendingObservation++
		}
		ready := vs.Conditions.Is("ConfigurationReady", model.True)
		satisfied := vs.Conditions.Is("SatisfyEligibleNodes", model.True)
		if ready && satisfied {
			aligned++
		}
		if vs.Conditions.Is("ConfigurationReady", model.False) {
			stale++
		}
		if vs.Conditions.Is("SatisfyEligibleNodes", model.False) {
			n.InConflictWithEligibleNodes++
		}
		if vs.Configuration != nil && !slices.Contains(n.UsedPools, vs.Configuration.Pool) {
			n.UsedPools = append(n.UsedPools, vs.Configuration.Pool)
		}
	}
	slices.Sort(n.UsedPools)
	if n.PendingObservation == 0 {
		n.Aligned, n.StaleConfiguration = &aligned, &stale
	}
	st.Volumes = n
	st.Conditions = st.Conditions.With(rolledOut(class, n, stale), w.Now).With(satisfies(class, n), w.Now)
}

func rolledOut(class *model.Class, n model.VolumeCounts, stale int) model.Condition {
	c := model.Condition{Type: "ConfigurationRolledOut", ObservedGeneration: class.Generation}
	switch {
	case n.PendingObservation > 0:
		c.Status, c.Reason, c.Message = model.Unknown, "NewConfigurationNotYetObserved", "some volumes have not seen the new configuration yet"
	case stale > 0 && class.Rollout == model.RolloutNewVolumesOnly:
		c.Status, c.Reason, c.Message = model.False, "ConfigurationRolloutDisabled", "existing volumes keep their configuration"
	case stale > 0:
		c.Status, c.Reason, c.Message = model.False, "ConfigurationRolloutInProgress", "volumes are being changed to the new configuration"
	default:
		c.Status, c.Reason = model.True, "RolledOutToAllVolumes"
	}
	return c
}

func satisfies(class *model.Class, n model.VolumeCounts) model.Condition {
	c := model.Condition{Type: "VolumesSatisfyEligibleNodes", ObservedGeneration: class.Generation}
	switch {
	case n.InConflictWithEligibleNodes == 0:
		c.Status, c.Reason = model.True, "AllVolumesSatisfy"
	case class.Conflict == model.ConflictManual:
		c.Status, c.Reason, c.Message = model.False, "ManualConflictResolution", "replicas on nodes that are no longer eligible stay until somebody moves them"
	default:
		c.Status, c.Reason, c.Message = model.False, "ConflictResolutionInProgress", "replicas are being moved to eligible nodes"
	}
	return c
}
