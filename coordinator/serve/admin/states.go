package admin

// StateReady is the state of a volume that lacks nothing.
const StateReady = stateReady

// States are all states of a volume.
func States() []string {
	return []string{
		stateDeleting, stateStopped, stateForming, stateUnknown, stateUnavailable, stateSuspended, stateSyncing, stateDegraded, stateReady,
	}
}
