package clientconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rvol/proto/identity"
)

// person is the three PEM texts of somebody of a cluster.
type person struct{ ca, cert, key string }

func newPerson(t *testing.T, cluster string) person {
	t.Helper()
	now := time.Now()
	ca, err := identity.NewCA(cluster, now)
	if err != nil {
		t.Fatal(err)
	}
	key, err := identity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	id := identity.ID{Cluster: cluster, Role: identity.Admin, Name: "anna"}
	cert, err := ca.SignPerson(&key.PublicKey, id, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := identity.EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return person{
		ca:   string(identity.EncodeCertificates(ca.Certificate())),
		cert: string(identity.EncodeCertificates(cert)),
		key:  string(keyPEM),
	}
}

func (p person) config() Config {
	return Config{Cluster: "prod", Endpoints: []string{"10.0.0.1:7800", "[fd00::1]:7800"}, CA: p.ca, Cert: p.cert, Key: p.key}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestSavedConfigLoads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rvol", "config.yaml")
	want := newPerson(t, "prod").config()
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Error(diff)
	}
	for p, mode := range map[string]string{path: "-rw-------", filepath.Dir(path): "drwx------"} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().String() != mode {
			t.Errorf("%s has mode %s, want %s", p, info.Mode(), mode)
		}
	}
	creds, err := got.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("spiffe://prod/admin/anna", creds.ID.String()); diff != "" {
		t.Error(diff)
	}
}

func TestPathsBeginAtTheFile(t *testing.T) {
	dir, p := t.TempDir(), newPerson(t, "prod")
	write(t, filepath.Join(dir, "ca.pem"), p.ca, 0o644)
	write(t, filepath.Join(dir, "anna.pem"), p.cert, 0o644)
	write(t, filepath.Join(dir, "anna-key.pem"), p.key, 0o600)
	for name, text := range map[string]string{
		"YAML": "cluster: prod\nendpoints: [a:1]\nca: ca.pem\ncert: " + dir + "/anna.pem\nkey: anna-key.pem\n",
		"JSON": `{"cluster":"prod","endpoints":["a:1"],"ca":"ca.pem","cert":"anna.pem","key":"anna-key.pem"}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			write(t, path, text, 0o644) // no secret in the file itself
			c, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Credentials(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	const rest = "ca: a\ncert: b\nkey: c\n"
	for name, tc := range map[string]struct{ text, says string }{
		"an empty file":             {"", "the file is empty"},
		"an unknown key":            {"cluster: prod\nendpoints: [a:1]\nendpoint: b:1\n" + rest, "line 3: field endpoint is not a key of this file"},
		"a key twice":               {"cluster: prod\ncluster: test\n", "line 2"},
		"a wrong type":              {"cluster: prod\nendpoints: {a: 1}\n", "line 2"},
		"broken YAML":               {"cluster: [", "line 1"},
		"two documents":             {"cluster: prod\nendpoints: [a:1]\n" + rest + "---\ncluster: test\n", "more than one document"},
		"no cluster":                {"endpoints: [a:1]\n" + rest, "cluster is missing"},
		"no endpoints":              {"cluster: prod\n" + rest, "endpoints is missing"},
		"an endpoint with no port":  {"cluster: prod\nendpoints: [a]\n" + rest, `endpoint "a": want host:port`},
		"an endpoint with port 0":   {"cluster: prod\nendpoints: ['a:0']\n" + rest, "port from 1 to 65535"},
		"an endpoint with no host":  {"cluster: prod\nendpoints: [':1']\n" + rest, `endpoint ":1"`},
		"an endpoint with a scheme": {"cluster: prod\nendpoints: ['https://a:1']\n" + rest, "want host:port"},
		"no key":                    {"cluster: prod\nendpoints: [a:1]\nca: a\ncert: b\n", "key is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.yaml")
			write(t, path, tc.text, 0o600)
			_, err := Load(path)
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q and the path", err, tc.says)
			}
		})
	}
}

func TestKeysThatOthersMayReadAreRefused(t *testing.T) {
	dir, p := t.TempDir(), newPerson(t, "prod")
	path, keyPath := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "key.pem")
	if err := p.config().Save(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "run chmod 0600 "+path) {
		t.Errorf("a key inside the file: %v", err)
	}
	write(t, keyPath, p.key, 0o640)
	c := p.config()
	c.Key = keyPath
	if _, err := c.Credentials(); err == nil || !strings.Contains(err.Error(), "run chmod 0600 "+keyPath) {
		t.Errorf("a key in a file of its own: %v", err)
	}
}

func TestCredentialsRefuse(t *testing.T) {
	p, other := newPerson(t, "prod"), newPerson(t, "prod")
	for name, tc := range map[string]struct {
		change func(*Config)
		says   string
	}{
		"a missing CA file":      {func(c *Config) { c.CA = "/does/not/exist" }, "ca: open /does/not/exist"},
		"a missing certificate":  {func(c *Config) { c.Cert = "/does/not/exist" }, "cert: open /does/not/exist"},
		"a missing key":          {func(c *Config) { c.Key = "/does/not/exist" }, "key: open /does/not/exist"},
		"a CA that is none":      {func(c *Config) { c.CA = p.cert }, "ca: "},
		"a key for certificate":  {func(c *Config) { c.Cert = p.key }, "cert: "},
		"a certificate for key":  {func(c *Config) { c.Key = p.cert }, "key: "},
		"another CA":             {func(c *Config) { c.CA = other.ca }, "unknown authority"},
		"another person's key":   {func(c *Config) { c.Key = other.key }, "another private key"},
		"another cluster's name": {func(c *Config) { c.Cluster = "test" }, "the configuration is for cluster test"},
	} {
		t.Run(name, func(t *testing.T) {
			c := p.config()
			tc.change(&c)
			if _, err := c.Credentials(); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

func TestPathFollowsTheEnvironment(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/anna/.config")
	for variable, want := range map[string]string{
		"":           "/home/anna/.config/rvol/config.yaml",
		"/etc/r.yml": "/etc/r.yml",
	} {
		t.Setenv(PathVariable, variable)
		got, err := Path()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	t.Setenv(PathVariable, "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	if _, err := Path(); err == nil || !strings.Contains(err.Error(), "set "+PathVariable) {
		t.Errorf("with no home: %v", err)
	}
}

func TestSaveRefusesWhatLoadWould(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := (Config{}).Save(path); err == nil {
		t.Error("an empty configuration was saved")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made nevertheless")
	}
}

func TestConfigDoesNotPrintItsKey(t *testing.T) {
	c := newPerson(t, "prod").config()
	if said := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(said, "PRIVATE KEY") {
		t.Error(said)
	}
}
