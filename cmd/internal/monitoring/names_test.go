package monitoring

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"

	"rvol/cmd/internal/cli"
	"rvol/cmd/internal/lab/sim"
)

const packaging = "../../../packaging"

// metric is what a name means.
type metric struct {
	kind, help string
	labels     []string
}

// told are all metrics of rvol's own, by name, that a program tells at one time or another.
type told map[string]metric

func (m told) add(f families) {
	for name, family := range f {
		if !strings.HasPrefix(name, "rvol_") || len(family.GetMetric()) == 0 {
			continue
		}
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		m[name] = metric{strings.ToLower(family.GetType().String()), family.GetHelp(), labels}
	}
}

// everything lives a cluster through what makes all of it be told.
func everything(t *testing.T) (coordinators, agents told) {
	t.Helper()
	coordinators, agents = told{}, told{}
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		rvol(t, c, "lvg create n1 vg0")
		rvol(t, c, "lvg create n2 vg0")
		rvol(t, c, "lvg create n2 vg1 --thin-pool tp")
		rvol(t, c, "class create r2 --ftt 1 --gmdr 0 --type LVM --vg vg0")
		rvol(t, c, "volume create db-1 --size 256MiB --class r2")
		for range 600 {
			for _, n := range []string{"n1", "n2", "n3"} {
				f, _ := scrape(t, c, n, sim.CoordinatorMetricsPort)
				coordinators.add(f)
				f, _ = scrape(t, c, n, sim.AgentMetricsPort)
				agents.add(f)
			}
			if _, copied := coordinators["rvol_volume_sync_ratio"]; copied && len(agents["rvol_drbd_sync_ratio"].labels) > 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		n, err := c.Node("n1")
		if err != nil {
			t.Fatal(err)
		}
		n.LVM.Fail("lvcreate", 1, 5, "  Volume group \"vg0\" has no mood.\n") // a tool that fails is counted
		rvol(t, c, "volume create db-2 --size 64MiB --class r2")
		time.Sleep(2 * time.Minute)
		f, _ := scrape(t, c, "n1", sim.AgentMetricsPort)
		agents.add(f)
	})
	return coordinators, agents
}

var nameRE = regexp.MustCompile(`\brvol_[a-z0-9_]+`)

// TestAlertsDashboardAndManualKnowTheSameMetrics demands that alerts and dashboard use nothing that is
// not told, and that the manual explains all that is, in its own words: those of the metrics.
func TestAlertsDashboardAndManualKnowTheSameMetrics(t *testing.T) {
	coordinators, agents := everything(t)
	all := told{}
	maps.Copy(all, coordinators)
	maps.Copy(all, agents)
	for file, text := range map[string]string{"rvol.rules.yml": queriesOfAlerts(t), "rvol.dashboard.json": queriesOfDashboard(t)} {
		for _, name := range nameRE.FindAllString(text, -1) {
			base := name
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if m, ok := all[strings.TrimSuffix(name, suffix)]; ok && m.kind == "histogram" {
					base = strings.TrimSuffix(name, suffix)
				}
			}
			if _, ok := all[base]; !ok {
				t.Errorf("%s asks for %s, which nobody tells", file, name)
			}
		}
	}
	path := filepath.Join(packaging, "man", "rvol-metrics.7")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := between(between(string(page), "coordinator", coordinators.manual()), "agent", agents.manual())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s does not say what is told: run go test ./cmd/internal/monitoring -update, and read the difference", path)
	}
}

// manual is the list of metrics for people.
func (m told) manual() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m)) {
		labels := ""
		if l := m[name].labels; len(l) > 0 {
			labels = " {" + strings.Join(l, ", ") + "}"
		}
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR%s\n%s. %s\n", name, labels, strings.ToUpper(m[name].kind[:1])+m[name].kind[1:], strings.ReplaceAll(m[name].help, "-", `\-`))
	}
	return b.String()
}

// between puts text between the two marks of a part of a page.
func between(page, part, text string) string {
	begin, end := `.\" begin `+part+"\n", `.\" end `+part+"\n"
	head, rest, ok := strings.Cut(page, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "the page has no part for " + part
	}
	return head + begin + text + end + tail
}

func readPackaged(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(packaging, "prometheus", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func alerts(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(readPackaged(t, "rvol.rules.yml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

func queriesOfAlerts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, r := range alerts(t) {
		b.WriteString(r.Expr + "\n")
	}
	return b.String()
}

func queriesOfDashboard(t *testing.T) string {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Query any } }
	}
	if err := json.Unmarshal(readPackaged(t, "rvol.dashboard.json"), &board); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			b.WriteString(q.Expr + "\n")
		}
	}
	for _, v := range board.Templating.List {
		fmt.Fprintln(&b, v.Query)
	}
	if len(board.Panels) == 0 {
		t.Fatal("the dashboard shows nothing")
	}
	return b.String()
}

var commandRE = regexp.MustCompile("`rvol ((?:[a-z][a-z-]* ?)+)")

// TestEveryAlertSaysWhatToDo demands of each alert a runbook whose commands exist, and a test.
func TestEveryAlertSaysWhatToDo(t *testing.T) {
	tests := string(readPackaged(t, "rvol.rules_test.yml"))
	names := map[string]bool{}
	for _, r := range alerts(t) {
		if names[r.Alert] {
			t.Errorf("%s is there twice", r.Alert)
		}
		names[r.Alert] = true
		if !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
		for _, what := range []string{"summary", "description", "runbook"} {
			if r.Annotations[what] == "" {
				t.Errorf("%s has no %s", r.Alert, what)
			}
		}
		if !strings.Contains(tests, `alertname="`+r.Alert+`"`) {
			t.Errorf("%s is not tested in rvol.rules_test.yml", r.Alert)
		}
		for _, m := range commandRE.FindAllStringSubmatch(r.Annotations["runbook"], -1) {
			words := strings.Fields(m[1])
			env := cli.Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Now: time.Now, IsTerminal: func(any) bool { return false }}
			if code := cli.Run(t.Context(), env, append(words, "--help")); code != 0 {
				t.Errorf("%s: rvol %s: exit code %d", r.Alert, strings.Join(words, " "), code)
			}
		}
	}
}
