package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/timestamppb"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/clientconfig"
	"rvol/proto/identity"
)

// The machine's own socket makes certificates for people. Whoever is root here, or the
// coordinator's own user, has its keys anyway; nobody else may ask.

// AdminCert is what the machine's own socket is asked for.
type AdminCert struct {
	Name      string        `json:"name"`
	Role      identity.Role `json:"role"`
	Endpoints []string      `json:"endpoints,omitempty"` // empty: all members
	Life      time.Duration `json:"life,omitempty"`      // 0: a year
}

const localPath = "/v1/admin-cert"

// MakeAdminCert asks the coordinator that runs on this machine, by its socket, for a
// client configuration.
func MakeAdminCert(ctx context.Context, socket string, a AdminCert) (MadeCert, error) {
	var config MadeCert
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	body, err := json.Marshal(a)
	if err != nil {
		return config, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://coordinator"+localPath, bytes.NewReader(body))
	if err != nil {
		return config, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return config, fmt.Errorf("ask the coordinator on this machine: %w: it must run, and you must be root or its user", err)
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	if resp.StatusCode != http.StatusOK {
		var said struct{ Error string }
		_ = json.NewDecoder(resp.Body).Decode(&said) // the status says enough
		return config, fmt.Errorf("make a certificate for %s: %s", a.Name, orStatus(said.Error, resp.Status))
	}
	var made localAnswer
	if err := json.NewDecoder(resp.Body).Decode(&made); err != nil {
		return config, fmt.Errorf("read the coordinator's answer: %w", err)
	}
	config.Config = clientconfig.Config{Cluster: made.Cluster, Endpoints: made.Endpoints, CA: made.CA, Cert: made.Cert, Key: made.Key}
	config.Note = made.Note
	config.Fingerprint, err = printOf(made.Cert)
	return config, err
}

// MadeCert is a client configuration with a new certificate.
type MadeCert struct {
	clientconfig.Config

	Fingerprint string // by which it can be revoked
	Note        string // what is odd about it; empty: nothing
}

// printOf is the fingerprint of the first certificate of a PEM text.
func printOf(text string) (string, error) {
	certs, err := identity.ParseCertificates([]byte(text))
	if err != nil {
		return "", err
	}
	return identity.FingerprintOf(certs[0]).String(), nil
}

// recordTimeout is how long the leader may take to note a certificate. It is made anyway.
const recordTimeout = 5 * time.Second

// record has the leader note a certificate, so that it can be listed and revoked.
func (m *member) record(ctx context.Context, cert string, a AdminCert) error {
	certs, err := identity.ParseCertificates([]byte(cert))
	if err != nil {
		return err
	}
	l := m.leadership.Leadership()
	if l.Addr == "" {
		return &model.NotLeaderError{}
	}
	conn, err := dialAPI(l.Addr, m.Dial, m.known.out())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // the answer is here, or will not come
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	_, err = adminv1.NewCertificatesClient(conn).Record(ctx, &adminv1.RecordCertificateRequest{
		Name: identity.FingerprintOf(certs[0]).String(), Subject: a.Name, Role: string(a.Role), ExpiresAt: timestamppb.New(certs[0].NotAfter),
	})
	return err
}

type localAnswer struct {
	Cluster   string   `json:"cluster"`
	Endpoints []string `json:"endpoints"`
	CA        string   `json:"ca"`
	Cert      string   `json:"cert"`
	Key       string   `json:"key"`
	Note      string   `json:"note,omitempty"`
}

func orStatus(text, status string) string {
	if text == "" {
		return status
	}
	return text
}

type connKey struct{}

// serveLocal answers on the machine's own socket.
func (m *member) serveLocal(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+localPath, m.handleAdminCert)
	server := &http.Server{
		Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(m.Local); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the local socket: %w", err)
	}
	return nil
}

func (m *member) handleAdminCert(w http.ResponseWriter, r *http.Request) {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	if err := ownMachine(conn); err != nil {
		refuseLocal(w, http.StatusForbidden, err)
		return
	}
	var a AdminCert
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&a); err != nil {
		refuseLocal(w, http.StatusBadRequest, err)
		return
	}
	made, err := m.adminCert(a)
	if err != nil {
		refuseLocal(w, http.StatusBadRequest, err)
		return
	}
	if err := m.record(r.Context(), made.Cert, a); err != nil {
		m.Log.WarnContext(r.Context(), "certificate is not on record", "cause", string(a.Role)+"/"+a.Name, "err", err)
		made.Note = "it is not on record, for no leader could write it down; it can be revoked by its fingerprint: " + err.Error()
	}
	m.Log.InfoContext(r.Context(), "admin certificate made", "cause", string(a.Role)+"/"+a.Name)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(made) // the asker is gone
}

func (m *member) adminCert(a AdminCert) (localAnswer, error) {
	v := m.store.View()
	ca, err := m.office.CA(v)
	if err != nil {
		return localAnswer{}, err
	}
	p := person(a)
	if len(p.Endpoints) == 0 {
		for member := range state.All[*model.Member](v) {
			p.Endpoints = append(p.Endpoints, member.APIAddr)
		}
	}
	c, err := certify(ca, p, m.Clock())
	return localAnswer{Cluster: c.Cluster, Endpoints: c.Endpoints, CA: c.CA, Cert: c.Cert, Key: c.Key}, err
}

func refuseLocal(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()}) // the asker is gone
}

// ownMachine lets root and the coordinator's own user in; the kernel says who it is.
func ownMachine(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%w: not a unix socket", model.ErrForbidden)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return fmt.Errorf("look who asks: %w", err)
	}
	var cred *unix.Ucred
	var got error
	if err := raw.Control(func(fd uintptr) { cred, got = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || got != nil {
		return fmt.Errorf("look who asks: %w", errors.Join(err, got))
	}
	if cred.Uid != 0 && int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: user %d is neither root nor the coordinator's", model.ErrForbidden, cred.Uid)
	}
	return nil
}
