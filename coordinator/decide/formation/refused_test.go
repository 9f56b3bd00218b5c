package formation

import (
	"testing"
	"time"

	"rvol/coordinator/model"
)

func TestOnlyRefusalsInARowGiveAVolumeUp(t *testing.T) {
	t.Parallel()
	in := forming(2, EstablishConnectivity)
	in.InStep = time.Hour
	in.Replicas[0].State.AppliedRevision = 0
	step := func(refusals int) *model.VolumeStatus {
		t.Helper()
		in.Replicas[1].State.Refusals = refusals
		out, err := Next(in)
		if err != nil || !out.Restart {
			t.Fatalf("got %s, %v; want a restart", says(out), err)
		}
		st := out.Put[len(out.Put)-1].(*model.VolumeStatus)
		next := model.Clone(in.Status)
		next.Restarts, next.Refused, next.LastError = st.Restarts, st.Refused, st.LastError
		in.Status = next
		return st
	}
	for range 9 {
		step(3)
	}
	if st := step(0); GivenUp(st) || st.Refused != 0 || st.Restarts != 10 {
		t.Errorf("a restart that nobody refused: %d refusals, %d restarts", st.Refused, st.Restarts)
	}
	for i := range 10 {
		if st := step(1); GivenUp(st) != (i == 9) || st.LastError == "" {
			t.Errorf("refusal %d: given up %t, because %q", i+1, GivenUp(st), st.LastError)
		}
	}
}
