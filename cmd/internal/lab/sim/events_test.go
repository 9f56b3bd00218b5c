package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEventsAreToldWithoutGapsWhoeverLeads watches everything, one volume and one node from the first entry on, while volumes are
// made and leaders come and go, and compares what was told with the list. Afterwards the state is replaced by an older one, whose
// trail begins anew: who asks for what was before is told so.
func TestEventsAreToldWithoutGapsWhoeverLeads(t *testing.T) {
	t.Parallel()
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	log := logTo(t, filepath.Join(t.ArtifactDir(), "events.log"))
	synctest.Test(t, func(t *testing.T) {
		cl, err := New(Config{Dir: dir, Nodes: 3, Version: "test", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cl.Close() }() // what failed before is what counts
		if err := cl.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		watchLeadersGo(t, NewScripted(cl))
	})
}

// about are the events that are watched.
var about = []string{"--since 1", "--since 1 --volume a-1", "--since 1 --node n2"}

func watchLeadersGo(t *testing.T, s *Scripted) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	told := make([]bytes.Buffer, len(about))
	for i, what := range about {
		watching.Go(func() {
			var errs bytes.Buffer
			s.Rvol(ctx, &told[i], &errs, strings.Fields("event watch -o json "+what))
		})
	}
	for _, node := range []string{"n1", "n2"} {
		must(t, s, "lvg create "+node+" vg0")
	}
	must(t, s, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0 --trust-zeroed")
	for i := range 3 {
		must(t, s, fmt.Sprintf("volume create a-%d --size 8MiB --class r2", i))
		lead, err := s.Leader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.StopCoordinator(lead); err != nil {
			t.Logf("coordinator of %s: %v", lead, err)
		}
		must(t, s, fmt.Sprintf("volume create b-%d --size 8MiB --class r2 --wait", i))
		if err := s.StartCoordinator(lead); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
	}
	time.Sleep(time.Minute)
	stop()
	watching.Wait()
	for i, what := range about {
		compareTold(t, s, what, &told[i])
	}
	compacted(t, s)
}

func compareTold(t *testing.T, s *Scripted, what string, told io.Reader) {
	t.Helper()
	var listed, seen []event
	if err := json.Unmarshal([]byte(must(t, s, "event list -o json "+what)), &listed); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(told); d.More(); {
		var e event
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, e)
	}
	if len(seen) < 10 {
		t.Errorf("%s: only %d were told", what, len(seen))
	}
	// Which node a replica will have is not known before it is placed: who asks later may be told more of a node.
	early := func(e event) bool {
		return strings.Contains(what, "--node") && strings.HasSuffix(e.Cause, ": create 2 replicas")
	}
	listed, seen = slices.DeleteFunc(listed, early), slices.DeleteFunc(seen, early)
	if diff := cmp.Diff(listed[:min(len(listed), len(seen))], seen); diff != "" {
		t.Errorf("%s: listed and told (-want +got):\n%s", what, diff)
	}
}

func compacted(t *testing.T, s *Scripted) {
	t.Helper()
	file := filepath.Join(s.Dir, "now.snapshot")
	must(t, s, "cluster snapshot save "+file)
	must(t, s, "cluster snapshot restore "+file+" --yes-i-mean lab")
	for _, verb := range []string{"list", "watch"} {
		var out bytes.Buffer
		if code := s.Rvol(t.Context(), &out, &out, strings.Fields("event "+verb+" --since 1")); code == 0 || !strings.Contains(out.String(), "compacted") {
			t.Errorf("event %s from before the restore: exit status %d, %s", verb, code, out.String())
		}
	}
}

// event is what identifies one.
type event struct {
	Index, Number int
	Cause         string
}
