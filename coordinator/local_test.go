package coordinator

import (
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/enroll"
	"rvol/coordinator/state"
	"rvol/proto/identity"
)

// alone is a member whose state holds its cluster, without Raft, behind its own socket.
func alone(t *testing.T) (socket string) {
	t.Helper()
	dir := t.TempDir()
	if err := Init(InitConfig{Dir: dir, Cluster: "test", Name: "c1", API: "c1:7170", Raft: "c1:7171"}); err != nil {
		t.Fatal(err)
	}
	sealing, err := identity.LoadSealingKey(sealingFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	birth, _, err := loadBirth(dir)
	if err != nil {
		t.Fatal(err)
	}
	txn, err := state.EncodeTxn(birth)
	if err != nil {
		t.Fatal(err)
	}
	store := state.NewStore(state.Options{})
	if res, err := store.Apply(1, state.EncodeEntry(time.Now(), txn)); err != nil || res[0].Err() != nil {
		t.Fatal(err, res)
	}
	socket = filepath.Join(dir, "s")
	l, err := listenLocal(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{
		Config: Config{Local: l, Clock: time.Now, Log: slog.New(slog.DiscardHandler)},
		store:  store, office: enroll.Office{Sealing: sealing}, leadership: newLeadership(nil, store),
	}
	done := make(chan error, 1)
	go func() { done <- m.serveLocal(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return socket
}

func TestTheMachinesOwnSocketMakesAdminCertificates(t *testing.T) {
	socket := alone(t)
	config, err := MakeAdminCert(t.Context(), socket, AdminCert{Name: "anna", Role: identity.Operator, Life: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	creds, err := config.Credentials()
	if err != nil || creds.ID.String() != "spiffe://test/operator/anna" || strings.Join(config.Endpoints, "") != "c1:7170" {
		t.Errorf("got %v, %v, endpoints %v", creds, err, config.Endpoints)
	}
	if left := time.Until(creds.Certificate().NotAfter); left > time.Hour {
		t.Errorf("it is good for %s, want an hour", left)
	}
	for _, a := range []AdminCert{{Name: "anna", Role: identity.Server}, {Name: "Anna B", Role: identity.Admin}, {Name: "anna", Role: identity.Admin, Life: 1000 * 24 * time.Hour}} {
		if _, err := MakeAdminCert(t.Context(), socket, a); err == nil || !strings.Contains(err.Error(), "make a certificate for "+a.Name) {
			t.Errorf("%+v: got %v, want a refusal", a, err)
		}
	}
	if _, err := MakeAdminCert(t.Context(), socket+"x", AdminCert{Name: "anna", Role: identity.Admin}); err == nil || !strings.Contains(err.Error(), "it must run") {
		t.Errorf("without a coordinator: %v", err)
	}
}

func TestOnlyUnixSocketsTellWhoAsks(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }() // memory
	if err := ownMachine(a); err == nil {
		t.Error("a connection without credentials was let in")
	}
}

func TestInitAndJoinRefuseWhatCannotWork(t *testing.T) {
	good := func(dir string) InitConfig {
		return InitConfig{Dir: dir, Name: "c1", API: "10.0.0.1:7170", Raft: "10.0.0.1:7171"}
	}
	for name, tc := range map[string]struct {
		change func(*InitConfig)
		says   string
	}{
		"a name with a dot":           {func(c *InitConfig) { c.Name = "c1.example" }, `"c1.example"`},
		"no port":                     {func(c *InitConfig) { c.API = "10.0.0.1" }, "want host:port"},
		"an address of all":           {func(c *InitConfig) { c.Raft = "0.0.0.0:7171" }, "cannot connect"},
		"no host":                     {func(c *InitConfig) { c.Raft = ":7171" }, "cannot connect"},
		"a port beyond all":           {func(c *InitConfig) { c.Raft = "10.0.0.1:70000" }, "65535"},
		"one address for two things":  {func(c *InitConfig) { c.Raft = c.API }, "both have the address"},
		"a cluster name with a space": {func(c *InitConfig) { c.Cluster = "my cluster" }, `"my cluster"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := good(t.TempDir())
			tc.change(&c)
			if err := Init(c); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want it to say %q", err, tc.says)
			}
		})
	}
	dir := t.TempDir()
	if err := Init(good(dir)); err != nil {
		t.Fatal(err)
	}
	if err := Init(good(dir)); err == nil || !strings.Contains(err.Error(), "holds a coordinator") {
		t.Errorf("a second init: %v", err)
	}
	err := Run(t.Context(), Config{Dir: t.TempDir(), API: nowhere{}, Raft: nowhere{}, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "no coordinator yet") {
		t.Errorf("run before init: %v", err)
	}
}

// nowhere is a listener that nobody reaches.
type nowhere struct{ net.Listener }

func TestInitLeavesNoSecretForOthersToRead(t *testing.T) {
	dir := t.TempDir()
	c := InitConfig{Dir: dir, Name: "c1", API: "c1:7170", Raft: "c1:7171", AdminConfig: filepath.Join(dir, "admin.yaml")}
	if err := Init(c); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 5 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		if f == string(identityDir(dir)) {
			continue // its own package looks after it
		}
		if _, err := identity.ReadPrivateFile(f); err != nil {
			t.Error(err)
		}
	}
	txn, _, err := loadBirth(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range txn.Put {
		o, err := model.Decode(p.Key.Kind, p.Value, 0)
		if err != nil {
			t.Fatal(err)
		}
		if cluster, ok := o.(*model.Cluster); ok && strings.Contains(string(cluster.CAKey), "PRIVATE KEY") {
			t.Error("the CA key is not sealed")
		}
	}
}
