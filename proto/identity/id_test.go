package identity

import (
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseIDReadsEveryRole(t *testing.T) {
	for _, role := range []Role{Server, Agent, Viewer, Operator, Admin} {
		want := ID{Cluster: "prod-1", Role: role, Name: "n-1"}
		got, err := ParseID("spiffe://prod-1/" + string(role) + "/n-1")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(got.String(), got.uri().String()); diff != "" {
			t.Error(diff)
		}
		if role.Machine() == role.Person() {
			t.Errorf("%s is both a machine's role and a person's, or neither", role)
		}
	}
}

func TestParseIDRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                    "",
		"another scheme":             "https://prod/agent/a",
		"capitals in the scheme":     "SPIFFE://prod/agent/a",
		"no name":                    "spiffe://prod/agent",
		"an empty name":              "spiffe://prod/agent/",
		"an empty cluster":           "spiffe:///agent/a",
		"an unknown role":            "spiffe://prod/root/a",
		"a role in capitals":         "spiffe://prod/Admin/a",
		"one part too many":          "spiffe://prod/agent/a/b",
		"a trailing slash":           "spiffe://prod/agent/a/",
		"a query":                    "spiffe://prod/viewer/a?role=admin",
		"a fragment":                 "spiffe://prod/agent/a#b",
		"a percent escape":           "spiffe://prod/agent/%61",
		"a user":                     "spiffe://me@prod/agent/a",
		"a port":                     "spiffe://prod:1/agent/a",
		"climbing up":                "spiffe://prod/agent/..",
		"capitals in the name":       "spiffe://prod/agent/A",
		"a hyphen in front":          "spiffe://prod/agent/-a",
		"a hyphen at the end":        "spiffe://prod/agent/a-",
		"a dot":                      "spiffe://prod/agent/a.b",
		"a newline":                  "spiffe://prod/agent/a\n",
		"a letter outside ASCII":     "spiffe://prod/agent/ä",
		"a name of 64 characters":    "spiffe://prod/agent/" + strings.Repeat("a", 64),
		"a cluster of 64 characters": "spiffe://" + strings.Repeat("a", 64) + "/agent/a",
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := ParseID(text); !errors.Is(err, ErrInvalidID) {
				t.Errorf("ParseID(%q) = %v, %v; want ErrInvalidID", text, id, err)
			}
		})
	}
}

func TestIDOfWantsExactlyOneName(t *testing.T) {
	agent := &url.URL{Scheme: "spiffe", Host: "prod", Path: "/agent/a"}
	for name, cert := range map[string]*x509.Certificate{
		"no name":             {},
		"two URIs":            {URIs: []*url.URL{agent, agent}},
		"a host name besides": {URIs: []*url.URL{agent}, DNSNames: []string{"a"}},
		"an address besides":  {URIs: []*url.URL{agent}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)}},
		"a mailbox besides":   {URIs: []*url.URL{agent}, EmailAddresses: []string{"a@b"}},
		"a query":             {URIs: []*url.URL{{Scheme: "spiffe", Host: "prod", Path: "/agent/a", ForceQuery: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := IDOf(cert); !errors.Is(err, ErrInvalidID) {
				t.Errorf("IDOf = %v, %v; want ErrInvalidID", id, err)
			}
		})
	}
	if _, err := IDOf(&x509.Certificate{URIs: []*url.URL{agent}}); err != nil {
		t.Error(err)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("spiffe://prod/agent/node-1")
	f.Add("spiffe://prod/viewer/a?b")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseID(text)
		if err != nil {
			return
		}
		if id.String() != text || id.uri().String() != text {
			t.Errorf("%q was read as %q", text, id)
		}
	})
}
