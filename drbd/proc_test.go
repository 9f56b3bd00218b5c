package drbd_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rvol/drbd"
)

// compared are two devices of DRBD 8.4, of which the first is being compared.
func compared() []drbd.Resource {
	r := drbd.Resource{Name: "r0", Devices: []drbd.Device{{Volume: 0, Minor: 0}, {Volume: 1, Minor: 10001}}}
	r.Peers = []drbd.Peer{{Conn: drbd.Connected, Devices: []drbd.PeerDevice{
		{Volume: 0, Repl: drbd.VerifyS, Done: drbd.Untold}, {Volume: 1, Repl: drbd.Established, Done: 100},
	}}}
	return []drbd.Resource{r}
}

func TestHowFarDRBD84IsWithAComparisonStandsInProc(t *testing.T) {
	t.Parallel()
	real := string(record(t, "8.4.11/193-B-resized-proc-drbd.n1").stdout)
	for _, c := range []struct {
		name, proc string
		want       []float64
	}{
		{"as recorded", real, []float64{18.8, 100}},
		{"of another device", " 1: cs:VerifyS\n\t[>] verified: 18.8% (1/2)K\n", []float64{drbd.Untold, 100}},
		{"of one that is not compared any more", "10001: cs:VerifyS\n\t[>] verified: 18.8% (1/2)K\n", []float64{drbd.Untold, 100}},
		{"in words that nobody knows", " 0: cs:VerifyS\n\tverified: much\n", []float64{drbd.Untold, 100}},
		{"a device whose number is none", "99999999999999999999: cs:VerifyS\n verified: 1.0%\n", []float64{drbd.Untold, 100}},
		{"more than all", " 0: cs:VerifyS\n verified: 999.9%\n", []float64{100, 100}},
		{"nothing", "", []float64{drbd.Untold, 100}},
	} {
		all := compared()
		drbd.MeasureCompared(all, []byte(c.proc))
		got := []float64{all[0].Peers[0].Devices[0].Done, all[0].Peers[0].Devices[1].Done}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func FuzzMeasureCompared(f *testing.F) {
	f.Add(record(f, "8.4.11/193-B-resized-proc-drbd.n1").stdout)
	f.Fuzz(func(t *testing.T, text []byte) {
		all := compared()
		drbd.MeasureCompared(all, text)
		check(t, all[0])
	})
}
