package decide_test

import (
	"fmt"
	"strings"
	"testing"

	"rvol/agent/decide"
)

func TestAFileSaysWhoseItIs(t *testing.T) {
	text, err := empty(v9).member().r().File(v9)
	if err != nil {
		t.Fatal(err)
	}
	o, ok := decide.OwnerOf(text)
	if !ok || o.Replica != "uid-0" || len(o.Reservations) != 1 || o.Reservations[0] != "res-0" || o.Peers != 1 {
		t.Errorf("owner %+v of\n%s", o, text)
	}
	for _, foreign := range []string{"", "# rvol replica=", "resource r0 {}", "# rvol replica= reservations=a"} {
		if o, ok := decide.OwnerOf(foreign); ok && o.Replica != "reservations=a" {
			t.Errorf("%q has owner %+v", foreign, o)
		}
	}
}

func TestAReplicaThatIsNoMemberCanNeverServe(t *testing.T) {
	w := empty(v9)
	w.r().Quorum = 1 // not its own yet
	text, err := w.r().File(v9)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "quorum 32;") || strings.Contains(text, "connection") {
		t.Errorf("file:\n%s", text)
	}
}

func TestTuningOptionsKeepTheirUnits(t *testing.T) {
	w := empty(v84).member()
	w.r().Options = map[string]string{
		"ping-int": "5", "connect-int": "3", "timeout": "60", "ping-timeout": "5", "resync-rate": "100M", "c-plan-ahead": "0",
		"c-max-rate": "1G", "c-min-rate": "250", "verify-alg": "sha1",
	}
	text, err := w.r().File(v84)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ping-int 5;", "connect-int 3;", "timeout 60;", "ping-timeout 5;", "resync-rate 102400K;", "c-plan-ahead 0;",
		"c-max-rate 1048576K;", "c-min-rate 250K;", `verify-alg "sha1";`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	for name, value := range map[string]string{"ping-int": "5s", "resync-rate": "fast", "c-plan-ahead": "20", "c-max-rate": "-1", "verify-alg": `x";`} {
		w.r().Options = map[string]string{name: value}
		if _, err := w.r().File(v84); err == nil {
			t.Errorf("%s %q is accepted", name, value)
		}
	}
}

func TestASecretDoesNotShow(t *testing.T) {
	w := empty(v9).member()
	w.r().Secret = "open-sesame"
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, w.Desired); strings.Contains(text, "open-sesame") {
			t.Errorf("%s shows it", format)
		}
	}
}
