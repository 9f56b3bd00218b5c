package coordinator

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"rvol/coordinator/model"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

const (
	renewRetry   = time.Minute
	renewLook    = time.Hour // how often the clock is compared: it may have been set
	renewTimeout = 20 * time.Second
)

// renew gets the next certificate when a third of the present one's life is over.
func (m *member) renew(ctx context.Context) {
	for {
		wait := renewLook
		if own, err := m.source.Current(); err == nil && !time.Now().Before(identity.RenewAt(own.Certificate())) {
			wait = renewRetry
			if err := m.renewNow(ctx); err != nil {
				m.Log.WarnContext(ctx, "certificate was not renewed", "err", err, "again", wait)
			} else {
				m.Log.InfoContext(ctx, "certificate renewed")
				wait = renewLook
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// renewNow asks the leader, which may be this member, for a certificate of the same key.
func (m *member) renewNow(ctx context.Context) error {
	l := m.leadership.Leadership()
	if l.Addr == "" {
		return &model.NotLeaderError{}
	}
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
	answer, err := adminv1.NewClusterClient(conn).RenewMember(ctx, &adminv1.RenewMemberRequest{Csr: csr})
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
