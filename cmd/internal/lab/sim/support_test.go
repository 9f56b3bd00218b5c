package sim

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rvol/proto/identity"
)

// TestNoPlantedSecretIsInABundle writes the secrets of a cluster wherever they might turn up, and looks for every one
// in every form in what `rvol support-bundle` makes.
func TestNoPlantedSecretIsInABundle(t *testing.T) {
	t.Parallel()
	dir, err := tempRoot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // memory of this test
	log := logTo(t, filepath.Join(t.ArtifactDir(), "support.log"))
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Dir: dir, Nodes: 3, Version: "test", Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }() // what failed before is what counts
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := c.Start(ctx); err != nil {
			t.Fatal(err)
		}
		p := &planter{t: t, s: NewScripted(c), dir: dir}
		p.rvol(ctx, "lvg", "create", "n1", "vg0")
		p.rvol(ctx, "lvg", "create", "n2", "vg0")
		p.rvol(ctx, "class", "create", "r2", "--ftt", "1", "--gmdr", "0", "--type", "LVM", "--vg", "vg0", "--trust-zeroed")
		p.rvol(ctx, "volume", "create", "db-1", "--size", "32MiB", "--class", "r2", "--wait")
		p.plant(ctx)
		bundle := filepath.Join(dir, "bundle.tar.gz")
		p.rvol(ctx, "support-bundle", "-f", bundle)
		p.harvest(bundle)
	})
}

// planter knows what was planted.
type planter struct {
	t       *testing.T
	s       *Scripted
	dir     string
	planted map[string][]byte // by what it is
}

func (p *planter) rvol(ctx context.Context, args ...string) string {
	p.t.Helper()
	var out, errs bytes.Buffer
	if code := p.s.Rvol(ctx, &out, &errs, args); code != 0 {
		p.t.Fatalf("rvol %s: exit status %d\n%s%s", strings.Join(args, " "), code, out.String(), errs.String())
	}
	return out.String()
}

func (p *planter) file(path string) []byte {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, path))
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *planter) write(path, text string) {
	p.t.Helper()
	path = filepath.Join(p.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// plant writes secrets into what a bundle is made of.
func (p *planter) plant(ctx context.Context) {
	res := p.file("n1/etc/drbd.d/rvol/rvol-db-1.res")
	shared := regexp.MustCompile(`shared-secret\s+"?([^";]+)`).FindSubmatch(res)
	if shared == nil {
		p.t.Fatalf("there is no secret in %s", res)
	}
	token := strings.TrimSpace(p.rvol(ctx, "-q", "token", "create", "node"))
	if _, err := identity.ParseToken(token); err != nil {
		p.t.Fatalf("%q: %v", token, err)
	}
	agentKey, sealing := p.file("n2/var/lib/rvol/agent/identity/key.pem"), p.file("n1/var/lib/rvol/coordinator/sealing.key")
	memberKey := p.file("n3/var/lib/rvol/coordinator/identity/key.pem")
	p.planted = map[string][]byte{
		"the volume's shared secret":      shared[1],
		"the secret part of a token":      []byte(strings.Split(token, ".")[3]),
		"an agent's key":                  line(agentKey, 1),
		"the end of an agent's key":       line(agentKey, 2),
		"a coordinator's key":             line(memberKey, 1),
		"the sealing key":                 bytes.TrimSpace(sealing),
		"the secret of a foreign file":    []byte("f0reign-s3cret-of-somebody"),
		"a passphrase in a property":      []byte("correct-horse-battery"),
		"a password in the environment":   []byte("pa55word-in-agent.env"),
		"a password on a command line":    []byte("pa55word-in-argv"),
		"a password within JSON in a log": []byte("pa55word-in-json"),
	}
	secret := string(shared[1])
	var lines strings.Builder
	for _, form := range []string{
		"auth of db-1 failed: " + secret, "net options: shared-secret " + secret + ";",
		"dump " + hex.EncodeToString(shared[1]), "DUMP " + strings.ToUpper(hex.EncodeToString(shared[1])),
		"payload " + base64.StdEncoding.EncodeToString([]byte("{\"x\":\""+secret+"\"}")), base64.RawURLEncoding.EncodeToString(shared[1]),
		"COMMAND=/usr/bin/rvol-agent join --token " + token + " --name n9", "joined with " + token, base64.StdEncoding.EncodeToString([]byte("token " + token)),
		string(agentKey), "key " + string(line(agentKey, 1)) + " is bad", base64.StdEncoding.EncodeToString(agentKey), string(memberKey),
		"sealing key " + string(sealing), "mysql --password=pa55word-in-argv", `{"msg":"{\"password\":\"pa55word-in-json\"}"}`,
	} {
		lines.WriteString("2026-11-21T10:00:00+00:00 n1 x[1]: " + form + "\n")
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		p.write(n+"/var/log/journal.txt", lines.String())
	}
	p.write("n2/etc/drbd.d/foreign.res", "resource foreign {\n  net { shared-secret \"f0reign-s3cret-of-somebody\"; }\n}\n")
	p.write("n3/etc/rvol/agent.env", "RVOL_PASSWORD=pa55word-in-agent.env\n")
	p.rvol(ctx, "volume", "set", "db-1", "--label", "planted="+secret, "--property", "luks=correct-horse-battery", "--property", "copy="+secret)
}

func line(text []byte, n int) []byte { return bytes.Split(text, []byte("\n"))[n] }

// harvest looks for what was planted, and that it was there to be found.
func (p *planter) harvest(bundle string) {
	stat, err := os.Stat(bundle)
	if err != nil || stat.Mode().Perm() != 0o600 {
		p.t.Fatalf("%v, mode %v, want 0600", err, stat.Mode())
	}
	files := untar(p.t, bundle)
	for what, secret := range p.planted {
		for name, data := range files {
			for _, form := range [][]byte{
				secret, hex.AppendEncode(nil, secret), bytes.ToUpper(hex.AppendEncode(nil, secret)),
				[]byte(base64.RawStdEncoding.EncodeToString(secret)), inner(secret, 1), inner(secret, 2),
			} {
				if bytes.Contains(data, form) {
					p.t.Errorf("%s: %s holds %q", what, name, form)
				}
			}
		}
	}
	for name, want := range map[string]string{
		"nodes/n1/journal.txt":                         "auth of db-1 failed: [removed]",
		"nodes/n1/files/etc/drbd.d/rvol/rvol-db-1.res": "shared-secret",
		"nodes/n2/files/etc/drbd.d/foreign.res":        "shared-secret",
		"nodes/n1/drbd-show.txt":                       "shared-secret",
		"nodes/n3/files/etc/rvol/agent.env":            "RVOL_PASSWORD",
		"state/volumes.jsonl":                          `"luks":`,
		"cluster/events.jsonl":                         "volume/db-1",
		"state/decisions.jsonl":                        "db-1",
		"nodes/n3/agent.json":                          "\"BootID\"",
		"coordinator/metrics.txt":                      "rvol_build_info",
		"manifest.json":                                "\"missing\": []",
		"README.txt":                                   "support bundle",
	} {
		if !bytes.Contains(files[name], []byte(want)) {
			p.t.Errorf("%s does not hold %q:\n%s", name, want, files[name])
		}
	}
}

// inner is what of the base64 of a secret stays the same whatever stands before, n bytes shifted, and behind it.
func inner(secret []byte, n int) []byte {
	text := base64.RawStdEncoding.EncodeToString(append(make([]byte, n), secret...))
	return []byte(text[4 : len(text)-4])
}

func untar(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if files[name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
