package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rvol/proto/redact"
)

const secret = "MZXW6YTBOI7Q2K3LJHGFDSAPOI"

func TestKnownSecretsGoInEveryForm(t *testing.T) {
	r := redact.New([]byte(secret))
	for name, text := range map[string]string{
		"as it is":          "auth failed with " + secret + " of n1",
		"in a name":         "x" + secret + "y",
		"hex":               "0x" + hex.EncodeToString([]byte(secret)),
		"HEX":               strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64":            base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, shifted":   base64.StdEncoding.EncodeToString([]byte("a:" + secret + ":more")),
		"base64, shifted 1": base64.StdEncoding.EncodeToString([]byte("a" + secret + "z")),
		"base64 for URLs":   base64.RawURLEncoding.EncodeToString([]byte("user:" + secret)),
		"twice base64":      base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(secret)))),
		"hex of base64":     hex.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(secret)))),
	} {
		t.Run(name, func(t *testing.T) {
			got := string(r.Clean([]byte(text)))
			for _, part := range []string{secret, text[2 : len(text)-4]} {
				if strings.Contains(got, part) {
					t.Errorf("%q keeps %q", got, part)
				}
			}
			if !strings.Contains(got, redact.Removed) {
				t.Errorf("%q does not say that something is missing", got)
			}
		})
	}
}

func TestWhatLooksLikeASecretGoes(t *testing.T) {
	token := "rvol1.node.abcdefgh.0123456789abcdef0123456789abcdef.zzzzzzzzzz.yyyy"
	pem := "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHunter2Hunter2\n-----END PRIVATE KEY-----"
	for _, tt := range []struct{ text, gone, want string }{
		{`shared-secret "hunter2 x";`, "hunter2", `shared-secret "[removed]";`},
		{`shared-secret hunter2;`, "hunter2", `shared-secret "[removed]";`},
		{`  cram-hmac-alg sha1;` + "\n" + `  shared-secret   	"hun;ter2";`, "hun;ter2", ""},
		{"COMMAND=/usr/bin/rvol-agent join --token " + token, "0123456789abcdef", ""},
		{"joined with " + token + " at 10:00", "0123456789abcdef", "joined with rvol1.node.abcdefgh.[removed] at 10:00"},
		{"joined with " + strings.ToUpper(token), "0123456789ABCDEF", ""},
		{base64.StdEncoding.EncodeToString([]byte("x " + token)), "MDEyMzQ1Njc4OWFiY2RlZg", ""},
		{"key:\n" + pem + "\nrest", "Hunter2", "key:\n[removed] private key\nrest"},
		{"key MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0nAejIMYyx998uFp is bad", "0nAejIMYyx998uFp", "key [removed] is bad"},
		{"cut off: " + pem[:50], "MC4CAQAwBQ", ""},
		{fmt.Sprintf("%q", pem), "Hunter2", ""},
		{base64.StdEncoding.EncodeToString([]byte(pem)), base64.StdEncoding.EncodeToString([]byte(pem))[40:60], ""},
		{`{"luks_passphrase": "hunter2", "size": 1}`, "hunter2", `{"luks_passphrase": "[removed]", "size": 1}`},
		{`{"text": "{\"password\": \"hunter2\"}"}`, "hunter2", ""},
		{"open https://c1:7170/login#0123456789abcdef now", "0123456789abcdef", "open https://c1:7170/login#[removed] now"},
		{"password=hunter2 user=root", "hunter2", `password="[removed]" user=root`},
		{"Authorization: Bearer aHVudGVyMg.aHVudGVyMg", "aHVudGVyMg", "Authorization: Bearer [removed]"},
		{"rvol-agent join --token=hunter2 --name n1", "hunter2", `rvol-agent join --token="[removed]" --name n1`},
	} {
		got := string(redact.New().Clean([]byte(tt.text)))
		if strings.Contains(got, tt.gone) {
			t.Errorf("Clean(%q) = %q keeps %q", tt.text, got, tt.gone)
		}
		if tt.want != "" && got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestTheRestStaysAsItIs(t *testing.T) {
	text := []byte(`{"state_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "objects": ["secret/volume.db-1"]}
db-1 role:Primary disk:UpToDate peer-disk:UpToDate replication:Established
-----BEGIN CERTIFICATE-----
MIIBszCCAVmgAwIBAgIUQf7v3h0b6l0n4qz8c7iQ1m2uQjEwCgYIKoZIzj0EAwIw
-----END CERTIFICATE-----
Nov 21 11:00:00 n1 rvol-agent[12]: level=INFO msg="order accepted" rev=1/47
`)
	if got := redact.New([]byte(secret)).Clean(text); !bytes.Equal(got, text) {
		t.Errorf("got %s", got)
	}
}

func TestNoFormOfASecretSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOfN(rapid.Byte(), 16, 48).Draw(t, "secret")
		s = append([]byte{'k'}, append(s, 'k')...)
		noise := rapid.StringMatching(`[ -~]{0,12}`)
		pre, post := noise.Draw(t, "before"), noise.Draw(t, "behind")
		quoted, _ := json.Marshal(string(s))
		written := map[string]string{
			"raw": string(s), "hex": hex.EncodeToString(s), "url": url.QueryEscape(string(s)), "json": string(quoted[1 : len(quoted)-1]),
			"base64": base64.StdEncoding.EncodeToString([]byte(pre + string(s) + post)),
		}
		r := redact.New(s)
		for name, form := range written {
			got := r.Clean([]byte(pre + form + post))
			core := form
			if name == "base64" { // what neighbours do not touch
				at := len(pre)*4/3 + 2
				core = form[at : at+len(s)*4/3-4]
			}
			if bytes.Contains(got, []byte(core)) {
				t.Fatalf("%s: %q keeps %q", name, got, core)
			}
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add([]byte("shared-secret \"x\"; token=" + secret))
	f.Add([]byte(base64.StdEncoding.EncodeToString([]byte(secret))))
	r := redact.New([]byte(secret))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := r.Clean(text); bytes.Contains(got, []byte(secret)) {
			t.Errorf("%q", got)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	text := bytes.Repeat([]byte("Nov 21 11:00:00 n1 rvol-agent[12]: level=INFO msg=\"order accepted\" rev=1/47 volume=db-1\n"), 10000)
	secrets := make([][]byte, 0, 10000)
	for i := range cap(secrets) {
		secrets = append(secrets, fmt.Appendf(nil, "SECRET%020d", i*7919))
	}
	r := redact.New(secrets...)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Clean(text)
	}
}
