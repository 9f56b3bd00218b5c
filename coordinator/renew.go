package coordinator

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

const (
	renewNoLeader = 5 * time.Second  // there is nobody to ask
	renewRetry    = time.Minute      // it was refused
	renewLook     = 10 * time.Minute // between looks at the clock, which may have been set
	renewTimeout  = 20 * time.Second
)

// renew gets the next certificate when a third of the present one's life is over, and
// when the cluster does not know yet what this member runs now.
func (m *member) renew(ctx context.Context) {
	for {
		timer := time.NewTimer(m.renewOnce(ctx))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// renewOnce renews when that is due, and returns when to look again.
func (m *member) renewOnce(ctx context.Context) time.Duration {
	switch {
	case m.leadership.Leadership().Addr == "":
		return renewNoLeader
	case !m.due():
		return renewLook
	}
	if err := m.renewNow(ctx); err != nil {
		m.Log.WarnContext(ctx, "certificate was not renewed", "err", err, "again", renewRetry)
		return renewRetry
	}
	m.Log.InfoContext(ctx, "certificate renewed")
	return renewLook
}

func (m *member) due() bool {
	own, err := m.source.Current()
	if err != nil || identity.Due(own.Certificate(), m.Clock()) {
		return err == nil
	}
	known, ok := state.Get[*model.Member](m.store.View(), m.place.Name)
	return ok && (known.Version != m.Version || known.Formats != [2]int{state.MinFormat, state.MaxFormat})
}

// renewNow asks the leader, which may be this member, for a certificate of the same key.
func (m *member) renewNow(ctx context.Context) error {
	l := m.leadership.Leadership()
	key, err := identityDir(m.Dir).EnsureKey()
	if err != nil {
		return err
	}
	csr, err := identity.NewRequest(key)
	if err != nil {
		return err
	}
	conn, err := dialAPI(l.Addr, m.Dial, m.known.out())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // the answer is here, or will not come
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	answer, err := adminv1.NewClusterClient(conn).RenewMember(ctx, &adminv1.RenewMemberRequest{
		Csr: csr, Version: m.Version, LowestFormat: state.MinFormat, HighestFormat: state.MaxFormat,
	})
	if err != nil {
		return fmt.Errorf("renew by %s: %w", l.Leader, err)
	}
	cert, err := x509.ParseCertificate(answer.GetCertificate())
	if err != nil {
		return fmt.Errorf("read the new certificate: %w", err)
	}
	ca, err := x509.ParseCertificate(answer.GetCa())
	if err != nil {
		return fmt.Errorf("read the CA of the cluster: %w", err)
	}
	next, err := identityDir(m.Dir).Save(cert, identity.Roots{ca})
	if err == nil {
		m.source.Set(next)
	}
	return err
}
