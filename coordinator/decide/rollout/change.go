package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"rvol/coordinator/model"
)

// An Effect is what a new configuration asks of a volume that runs an older one.
type Effect int

// The effects, from the least to the most.
const (
	None    Effect = iota // the volume is as it should be already
	Options               // its members render their DRBD configuration anew; nothing moves
	Moves                 // its replicas, or what they must confirm, change
)

// Between says what replacing the configuration old by next asks of a volume. samePlaces says that all its replicas
// stand where the pool of next allows them.
func Between(old, next *model.Configuration, samePlaces bool) Effect {
	mustMove := old.FTT != next.FTT || old.GMDR != next.GMDR || old.Topology != next.Topology ||
		old.VolumeAccess != next.VolumeAccess || old.PoolType != next.PoolType ||
		!slices.Equal(old.SystemNetworks, next.SystemNetworks) || old.Pool != next.Pool && !samePlaces
	switch {
	case mustMove:
		return Moves
	case old.OnNoQuorum != next.OnNoQuorum || !maps.Equal(old.DRBD, next.DRBD):
		return Options
	}
	return None
}

// Differences says in words what changes from one configuration to the next: "FTT 1 -> 2". Nothing: they are the same.
func Differences(old, next *model.Configuration) []string {
	var out []string
	add := func(what string, a, b any) {
		if from, to := fmt.Sprint(a), fmt.Sprint(b); from != to {
			out = append(out, fmt.Sprintf("%s %s -> %s", what, from, to))
		}
	}
	add("FTT", old.FTT, next.FTT)
	add("GMDR", old.GMDR, next.GMDR)
	add("topology", old.Topology, next.Topology)
	add("volume access", old.VolumeAccess, next.VolumeAccess)
	add("pool", old.Pool, next.Pool)
	add("storage type", old.PoolType, next.PoolType)
	add("networks", strings.Join(old.SystemNetworks, ","), strings.Join(next.SystemNetworks, ","))
	add("on no quorum", old.OnNoQuorum, next.OnNoQuorum)
	add("wipe", old.Wipe, next.Wipe)
	add("trust zeroed", old.TrustZeroed, next.TrustZeroed)
	for _, name := range slices.Sorted(maps.Keys(merged(old.DRBD, next.DRBD))) {
		add(name, orDefault(old.DRBD[name]), orDefault(next.DRBD[name]))
	}
	return out
}

func merged(a, b map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

func orDefault(s string) string {
	if s == "" {
		return "default"
	}
	return s
}
