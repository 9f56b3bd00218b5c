package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSignGivesOnlyWhatTheCallerDecided(t *testing.T) {
	w := newWorld(t, "prod")
	key := newKey(t)
	greedy, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:     pkix.Name{CommonName: "root", Organization: []string{"system:masters"}},
		DNSNames:    []string{"coord-1"},
		IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
		URIs:        []*url.URL{w.id(Admin, "me").uri()},
		ExtraExtensions: []pkix.Extension{
			{Id: []int{2, 5, 29, 19}, Critical: true, Value: []byte{0x30, 3, 1, 1, 0xff}}, // basicConstraints CA:TRUE
		},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := KeyOfRequest(greedy)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := w.ca.SignMachine(public, w.id(Agent, "node-1"), today())
	if err != nil {
		t.Fatal(err)
	}
	id, err := IDOf(cert)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.id(Agent, "node-1"), id); diff != "" {
		t.Error(diff)
	}
	if cert.IsCA || cert.Subject.String() != "CN=agent node-1" {
		t.Errorf("got CA %v, subject %s", cert.IsCA, cert.Subject)
	}
	if diff := cmp.Diff([]x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, cert.ExtKeyUsage); diff != "" {
		t.Error(diff)
	}
	if want, err := KeyFingerprint(public); err != nil || FingerprintOf(cert) != want {
		t.Errorf("the certificate's key is not the one of the request (%v)", err)
	}
}

func TestKeyOfRequestRefuses(t *testing.T) {
	good, err := NewRequest(newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	forged := slices.Clone(good)
	forged[len(forged)-1] ^= 1
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	otherCurve, err := NewRequest(p384)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	otherKind, err := NewRequest(rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		der  []byte
		want string
	}{
		"nothing":             {nil, "read signing request"},
		"cut short":           {good[:len(good)-8], "read signing request"},
		"something behind it": {slices.Concat(good, []byte{0}), "read signing request"},
		"a broken signature":  {forged, "check signing request"},
		"another curve":       {otherCurve, "not ECDSA P-256"},
		"another kind of key": {otherKind, "not ECDSA P-256"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := KeyOfRequest(tc.der); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestSignLifetimes(t *testing.T) {
	w := newWorld(t, "prod")
	key := newKey(t)
	lastMonth := w.ca.Certificate().NotAfter.Add(-30 * 24 * time.Hour)
	for name, tc := range map[string]struct {
		id   ID
		now  time.Time
		life time.Duration
		want time.Time
	}{
		"a machine's is 90 days":           {w.id(Server, "c"), today(), 0, today().Add(90 * 24 * time.Hour)},
		"a person's is as asked":           {w.id(Viewer, "v"), today(), time.Hour, today().Add(time.Hour)},
		"nobody's outlives the CA":         {w.id(Agent, "a"), lastMonth, 0, w.ca.Certificate().NotAfter},
		"a person's may be a year at most": {w.id(Admin, "a"), today(), MaxPersonLifetime, today().Add(MaxPersonLifetime)},
	} {
		t.Run(name, func(t *testing.T) {
			cert, err := w.ca.SignMachine(&key.PublicKey, tc.id, tc.now)
			if tc.life != 0 {
				cert, err = w.ca.SignPerson(&key.PublicKey, tc.id, tc.now, tc.life)
			}
			if err != nil {
				t.Fatal(err)
			}
			if !cert.NotAfter.Equal(tc.want) {
				t.Errorf("ends %s, want %s", cert.NotAfter, tc.want)
			}
			if cert.NotBefore.Before(w.ca.Certificate().NotBefore) || !cert.NotBefore.Equal(tc.now.Add(-backdate)) {
				t.Errorf("begins %s at %s", cert.NotBefore, tc.now)
			}
		})
	}
}

func TestACertificateIsValidFromNowAndNotOlderThanWhatHasBeen(t *testing.T) {
	w := newWorld(t, "prod")
	key, ends := newKey(t), w.ca.Certificate().NotAfter
	for name, tc := range map[string]struct{ now, been, begins, issued, ends time.Time }{
		"the clock is right": {
			today().Add(time.Hour), today(), today().Add(time.Hour - backdate), today().Add(time.Hour), today().Add(time.Hour + MachineLifetime),
		},
		"a clock was a year ahead": {
			today(), today().Add(365 * 24 * time.Hour), today().Add(-backdate), today().Add(365 * 24 * time.Hour), today().Add(365*24*time.Hour + MachineLifetime),
		},
		"it was ahead by more than the CA will live": {today(), ends.Add(time.Hour), today().Add(-backdate), ends.Add(-MachineLifetime), ends},
		"the clock is behind the CA": {
			time.Unix(0, 0), today().Add(time.Hour), w.ca.Certificate().NotBefore, today().Add(time.Hour), today().Add(time.Hour + MachineLifetime),
		},
	} {
		t.Run(name, func(t *testing.T) {
			cert, err := w.ca.SignMachineAfter(&key.PublicKey, w.id(Server, "c"), tc.now, tc.been)
			if err != nil {
				t.Fatal(err)
			}
			want := []time.Time{tc.begins.UTC(), tc.issued.UTC(), tc.ends.UTC()}
			if diff := cmp.Diff(want, []time.Time{cert.NotBefore, IssuedAt(cert), cert.NotAfter}); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, err := w.ca.SignMachineAfter(&key.PublicKey, w.id(Viewer, "v"), today(), today())
	if err == nil {
		t.Error("a person has a machine's certificate")
	}
}

func TestSignDrawsSerialNumbers(t *testing.T) {
	w := newWorld(t, "prod")
	a, b := w.issue(t, Agent, "a").Certificate(), w.issue(t, Agent, "a").Certificate()
	if a.SerialNumber.Cmp(b.SerialNumber) == 0 || a.SerialNumber.BitLen() < 64 {
		t.Errorf("serial numbers %s and %s", a.SerialNumber, b.SerialNumber)
	}
}

func TestSignRefuses(t *testing.T) {
	w := newWorld(t, "prod")
	key := newKey(t)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	machine := func(key *ecdsa.PublicKey, id ID, now time.Time) error {
		_, err := w.ca.SignMachine(key, id, now)
		return err
	}
	person := func(id ID, life time.Duration) error {
		_, err := w.ca.SignPerson(&key.PublicKey, id, today(), life)
		return err
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a person as a machine": {machine(&key.PublicKey, w.id(Admin, "a"), today()), "not a machine's"},
		"a machine as a person": {person(w.id(Server, "c"), time.Hour), "not a person's"},
		"no role":               {machine(&key.PublicKey, w.id("", "a"), today()), "not a machine's"},
		"another cluster":       {machine(&key.PublicKey, ID{"test", Agent, "a"}, today()), "CA of cluster prod"},
		"a bad name":            {machine(&key.PublicKey, w.id(Agent, "../a"), today()), "invalid identity"},
		"no lifetime":           {person(w.id(Viewer, "v"), 0), "lifetime 0s"},
		"a negative lifetime":   {person(w.id(Viewer, "v"), -1), "lifetime -1ns"},
		"too long a lifetime":   {person(w.id(Viewer, "v"), MaxPersonLifetime+1), "at most"},
		"another curve":         {machine(&p384.PublicKey, w.id(Agent, "a"), today()), "not ECDSA P-256"},
		"a CA past its time":    {machine(&key.PublicKey, w.id(Agent, "a"), today().Add(CALifetime+time.Hour)), "lapsed"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
				t.Errorf("got %v, want %q", tc.err, tc.want)
			}
		})
	}
	if _, err := NewCA("Prod", today()); !errors.Is(err, ErrInvalidID) {
		t.Errorf("a cluster in capitals: %v", err)
	}
}

func TestSealedCAOpensAndSigns(t *testing.T) {
	w := newWorld(t, "prod")
	with := NewSealingKey()
	sealed, err := w.ca.Seal(with)
	if err != nil {
		t.Fatal(err)
	}
	again, err := OpenCA(w.ca.Certificate().Raw, sealed, with)
	if err != nil {
		t.Fatal(err)
	}
	if again.Hash() != w.ca.Hash() || again.Cluster() != "prod" {
		t.Errorf("opened %s", again)
	}
	key := newKey(t)
	cert, err := again.SignMachine(&key.PublicKey, w.id(Agent, "a"), today())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewCredentials(key, cert, w.roots); err != nil {
		t.Error(err)
	}
}

func TestOpenCARefuses(t *testing.T) {
	w, other := newWorld(t, "prod"), newWorld(t, "prod")
	with := NewSealingKey()
	sealed, err := w.ca.Seal(with)
	if err != nil {
		t.Fatal(err)
	}
	leaf := w.issue(t, Server, "c").Certificate()
	swapped := swapKey(t, other.ca, w.ca.Certificate().Raw, with)
	for name, tc := range map[string]struct {
		cert, sealed []byte
		with         SealingKey
		want         string
	}{
		"another sealing key":        {w.ca.Certificate().Raw, sealed, NewSealingKey(), ErrOtherSealingKey.Error()},
		"another CA's certificate":   {other.ca.Certificate().Raw, sealed, with, ErrSealBroken.Error()},
		"a certificate that is none": {nil, sealed, with, "read CA certificate"},
		"a machine's certificate":    {leaf.Raw, sealed, with, "not that of an rvol CA"},
		"another CA's key":           {w.ca.Certificate().Raw, swapped, with, "does not belong"},
		"nothing":                    {w.ca.Certificate().Raw, nil, with, ErrSealBroken.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := OpenCA(tc.cert, tc.sealed, tc.with); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func swapKey(t *testing.T, ca *CA, about []byte, with SealingKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(ca.key)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := with.Seal(der, about)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestSealTellsEveryChangedByte(t *testing.T) {
	k := NewSealingKey()
	sealed, err := k.Seal([]byte("secret"), []byte("about"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sealed {
		changed := slices.Clone(sealed)
		changed[i] ^= 1
		if _, err := k.Open(changed, []byte("about")); err == nil {
			t.Errorf("byte %d of %d was changed and nobody noticed", i, len(sealed))
		}
		if _, err := k.Open(sealed[:i], []byte("about")); err == nil {
			t.Errorf("cut to %d of %d bytes and nobody noticed", i, len(sealed))
		}
	}
}

func TestSealingKeySurvivesItsText(t *testing.T) {
	k := NewSealingKey()
	again, err := ParseSealingKey(append(k.Reveal(), '\n'))
	if err != nil {
		t.Fatal(err)
	}
	if again != k {
		t.Error("another key came back")
	}
	for _, bad := range []string{"", "00", strings.Repeat("z", 64), strings.Repeat("0", 66)} {
		if _, err := ParseSealingKey([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a sealing key", bad)
		}
	}
}

func scalar(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	bytes, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestSecretsDoNotPrint(t *testing.T) {
	w := newWorld(t, "prod")
	creds := w.issue(t, Agent, "node-1")
	token, err := NewToken(NodeToken, w.ca.Hash())
	if err != nil {
		t.Fatal(err)
	}
	seal := NewSealingKey()
	for name, tc := range map[string]struct{ value, secret any }{
		"sealing key":            {seal, seal.secret[:]},
		"token":                  {token, token.secret[:]},
		"credentials":            {creds, scalar(t, creds.cert.PrivateKey.(*ecdsa.PrivateKey))},
		"certificate authority":  {w.ca, scalar(t, w.ca.key)},
		"sealing key in a group": {struct{ K SealingKey }{seal}, seal.secret[:]},
		"token in a group":       {[]Token{token}, token.secret[:]},
	} {
		t.Run(name, func(t *testing.T) {
			asJSON, err := json.Marshal(tc.value)
			if err != nil {
				asJSON = nil
			}
			said := fmt.Sprintf("%v %+v %#v %s", tc.value, tc.value, tc.value, asJSON)
			for _, form := range []string{"%x", "%v", "%d"} {
				text := strings.Trim(fmt.Sprintf(form, tc.secret), "[]")
				if strings.Contains(said, text[:16]) {
					t.Errorf("it prints its secret: %s", said)
				}
			}
		})
	}
	if strings.Contains(token.String(), strings.Split(token.Reveal(), ".")[3]) {
		t.Error("the token prints its secret as text")
	}
}
