package agent_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"rvol/agent"
	"rvol/agent/agenttest"
	"rvol/agent/host"
	"rvol/drbd"
	"rvol/drbd/drbdtest"
	agentv1 "rvol/proto/agent/v1"
)

// leader is a coordinator that gives one order and listens.
type leader struct {
	agentv1.UnimplementedAgentsServer
	listener *bufconn.Listener
	orders   chan *agentv1.Desired

	mu      sync.Mutex
	hello   *agentv1.Hello
	report  *agentv1.Report // newest section of each kind
	results []*agentv1.OperationResult
}

func newLeader() *leader {
	return &leader{listener: bufconn.Listen(1 << 20), orders: make(chan *agentv1.Desired), report: &agentv1.Report{}}
}

func (l *leader) Session(s grpc.BidiStreamingServer[agentv1.FromAgent, agentv1.ToAgent]) error {
	first, err := s.Recv()
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.hello = first.GetHello()
	l.mu.Unlock()
	if err := s.Send(&agentv1.ToAgent{Message: &agentv1.ToAgent_Welcome{Welcome: &agentv1.Welcome{Leader: "a"}}}); err != nil {
		return err
	}
	go func() {
		for {
			select {
			case d := <-l.orders:
				_ = s.Send(&agentv1.ToAgent{Message: &agentv1.ToAgent_Desired{Desired: d}}) // Recv sees it too
			case <-s.Context().Done():
				return
			}
		}
	}()
	for {
		m, err := s.Recv()
		if err != nil {
			return nil //nolint:nilerr // the agent has gone
		}
		l.take(m)
		if r := m.GetResult(); r != nil {
			if err := s.Send(&agentv1.ToAgent{Message: &agentv1.ToAgent_ResultAck{ResultAck: &agentv1.ResultAck{Id: r.Id}}}); err != nil {
				return err
			}
		}
	}
}

func (l *leader) take(m *agentv1.FromAgent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := m.GetResult(); r != nil {
		l.results = append(l.results, r)
	}
	r := m.GetReport()
	if r == nil {
		return
	}
	for _, section := range []func(){
		func() { keep(&l.report.Storage, r.Storage) }, func() { keep(&l.report.Resources, r.Resources) },
		func() { keep(&l.report.Replicas, r.Replicas) }, func() { keep(&l.report.Conditions, r.Conditions) },
		func() { keep(&l.report.Capabilities, r.Capabilities) }, func() { keep(&l.report.Addresses, r.Addresses) },
		func() { keep(&l.report.Accepted, r.Accepted) },
	} {
		section()
	}
}

func keep[T any](into **T, section *T) {
	if section != nil {
		*into = section
	}
}

func (l *leader) see(f func(*agentv1.Report) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f(l.report)
}

// notes is a service manager that writes down what it is told.
type notes struct {
	mu    sync.Mutex
	texts []string
}

func (n *notes) note(text string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.texts = append(n.texts, text)
	return nil
}

func (n *notes) Ready(status string) error { return n.note("ready: " + status) }
func (n *notes) Status(text string) error  { return n.note("status: " + text) }
func (n *notes) Stopping() error           { return n.note("stopping") }
func (n *notes) Watchdog(ctx context.Context, alive func() bool) error {
	if alive() {
		_ = n.note("alive")
	}
	<-ctx.Done()
	return nil
}

func (n *notes) has(part string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.texts, "\n"), part)
}

// lab is one agent on a simulated machine, with a leader.
type lab struct {
	t       *testing.T
	fabric  *drbdtest.Fabric
	machine *agenttest.Machine
	leader  *leader
	notes   *notes
	config  agent.Config
}

func newLab(t *testing.T, v drbd.Version) *lab {
	t.Helper()
	f := drbdtest.NewFabric()
	m, err := agenttest.New(f, agenttest.Config{
		Name: "n1", Version: v, Root: t.TempDir(), Seed: 1, Groups: map[string]int64{"vg0": 1 << 30},
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, fabric: f, machine: m, leader: newLeader(), notes: &notes{}}
	l.config = agent.Config{
		Fence: func(func(context.Context, string) int) {}, // a socket would keep the bubble's clock from going
		Log:   slog.New(slog.DiscardHandler), Node: "n1", Version: "test", Root: m.Root, State: agent.StateFolder(m.Root),
		Machine: host.Machine{HostName: "n1", MachineID: "m", BootID: "b", Kernel: "k"},
		Run:     m.Run, Follow: m.DRBD.Follow, Find: func(string) error { return nil },
		Addresses:    agent.FixedAddresses{"default": "10.0.0.1"},
		Coordinators: []string{"a"}, Notify: l.notes,
		Dial: func(context.Context, string) (grpc.ClientConnInterface, error) {
			return grpc.NewClient("passthrough:///a", grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.leader.listener.DialContext(ctx) }))
		},
	}
	return l
}

// run runs the agent and its leader until the test ends.
func (l *lab) run() {
	l.t.Helper()
	server := grpc.NewServer()
	agentv1.RegisterAgentsServer(server, l.leader)
	ctx, cancel := context.WithCancel(l.t.Context())
	var ends sync.WaitGroup
	ends.Go(func() { _ = server.Serve(l.leader.listener) })
	ends.Go(func() {
		if err := agent.Run(ctx, l.config); err != nil {
			l.t.Error(err)
		}
	})
	l.t.Cleanup(func() {
		cancel()
		server.Stop()
		ends.Wait()
		l.fabric.Close()
	})
}

func (l *lab) until(what string, ok func() bool) {
	l.t.Helper()
	for range 600 {
		synctest.Wait()
		if ok() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	l.t.Fatalf("waited in vain: %s; notes %q, report %v", what, l.notes.texts, l.leader.report)
}

func TestAnAgentIntroducesItselfReportsAndObeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, drbdtest.V84)
		l.run()
		l.until("full report", func() bool {
			return l.leader.see(func(r *agentv1.Report) bool {
				return len(r.GetStorage().GetVgs()) == 1 && r.GetStorage().GetError() == "" && r.GetResources().GetError() == "" &&
					r.GetCapabilities().GetDrbd() == "8.4" && r.GetCapabilities().GetThin() && r.GetAddresses().GetByNetwork()["default"] == "10.0.0.1"
			})
		})
		if h := l.leader.hello; h.Node != "n1" || h.BootId != "b" || h.AgentVersion != "test" {
			t.Errorf("hello: %v", h)
		}
		if !l.notes.has("ready: observed") || !l.notes.has("alive") {
			t.Errorf("notes: %q", l.notes.texts)
		}
		var uuid string
		l.leader.see(func(r *agentv1.Report) bool { uuid = r.Storage.Vgs[0].Uuid; return true })
		l.leader.orders <- &agentv1.Desired{
			Order: &agentv1.Order{Incarnation: 1, Index: 9}, Cluster: "c1",
			Resources: []*agentv1.DesiredResource{{
				Volume: "db", Name: "rvol-db", ReplicaId: 0, ReplicaUid: "u", Type: "Diskful", HostName: "n1", Port: 17000,
				Addresses: map[string]string{"default": "10.0.0.1"}, MaxPeers: 7, Drbd: "8.4",
				Devices: []*agentv1.DesiredDevice{{Minor: 10000, Size: 16 << 20, Backing: &agentv1.Backing{
					Reservation: "r", Vg: "vg0", VgUuid: uuid, Lv: "rvol-db.0.0", Size: drbd.BackingSize(16<<20, 7),
				}}},
			}},
		}
		l.until("preconfigured", func() bool {
			return l.leader.see(func(r *agentv1.Report) bool {
				s := r.GetReplicas().GetReplicas()
				return len(s) == 1 && s[0].Preconfigured && s[0].JustCreated && s[0].Backing[0].LvUuid != "" && r.Accepted.Index == 9 &&
					len(r.Resources.Resources) == 1 && r.Resources.Resources[0].Devices[0].Disk == "Inconsistent"
			})
		})
		l.until("status", func() bool { return l.notes.has("status: connected to a; 1 replicas") })
	})
}

func TestANodeThatLacksToolsIsANodeAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, drbdtest.V9)
		l.machine.LVM.Uninstall("lvm")
		l.machine.DRBD.Inject(drbdtest.Fault{Match: "--version", Garble: func([]byte) []byte {
			return []byte("DRBD_KERNEL_VERSION_CODE=0x000000\nDRBDADM_VERSION_CODE=0x091600\n")
		}})
		l.run()
		l.until("reasons", func() bool {
			return l.leader.see(func(r *agentv1.Report) bool {
				c := r.GetCapabilities()
				return c.GetLvm() == "" && c.GetLvmReason() != "" && c.GetDrbd() == "" && strings.Contains(c.GetDrbdReason(), "module") && !c.GetThin() && c.GetThinReason() != ""
			})
		})
	})
}

func TestAMachineThatDoesNotAnswerIsReportedAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, drbdtest.V9)
		release := l.machine.LVM.Hang("fullreport")
		defer release()
		l.run()
		time.Sleep(20 * time.Second)
		if l.notes.has("ready") {
			t.Errorf("ready before anything was seen: %q", l.notes.texts)
		}
		l.until("ready without LVM", func() bool { return l.notes.has("ready: not observed yet: LVM") })
	})
}

func TestAnAgentDoesNotRunBesideASatellite(t *testing.T) {
	l := newLab(t, drbdtest.V9)
	defer l.fabric.Close()
	dir := filepath.Join(l.machine.Root, "proc/77")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	line := "java\x00-Xms32M\x00com.linbit.linstor.core.Satellite\x00--logs=/var/log\x00"
	if err := os.WriteFile(filepath.Join(dir, "cmdline"), []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	err := agent.Run(t.Context(), l.config)
	if err == nil || !strings.Contains(err.Error(), "process 77") || !strings.Contains(err.Error(), "systemctl disable") {
		t.Errorf("error is %v", err)
	}
}
