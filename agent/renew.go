package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// Renewal gets the node's next certificate when a third of the present one's
// life is over.
type Renewal struct {
	State        string
	Source       *identity.Source
	Coordinators []string
	Dial         func(ctx context.Context, addr string) (grpc.ClientConnInterface, error)
	Clock        func() time.Time // nil: time.Now
	Log          *slog.Logger
}

const (
	renewLook    = 10 * time.Minute // how often the clock is compared: it may have been set
	renewRetry   = 5 * time.Minute
	renewTimeout = 20 * time.Second
)

// Run renews for as long as ctx lasts.
func (r Renewal) Run(ctx context.Context) error {
	if r.Clock == nil {
		r.Clock = time.Now
	}
	for {
		wait := renewLook
		if own, err := r.Source.Current(); err == nil && identity.Due(own.Certificate(), r.Clock()) {
			if err := r.renew(ctx); err != nil {
				wait = renewRetry
				r.Log.WarnContext(ctx, "certificate not renewed", "err", err, "again", wait)
			} else {
				r.Log.InfoContext(ctx, "certificate renewed")
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// renew asks one coordinator after the other for a certificate of the same key.
func (r Renewal) renew(ctx context.Context) error {
	key, err := IdentityDir(r.State).EnsureKey()
	if err != nil {
		return err
	}
	csr, err := identity.NewRequest(key)
	if err != nil {
		return err
	}
	var errs []error
	for _, addr := range r.Coordinators {
		err := r.ask(ctx, addr, csr)
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("renew by %s: %w", addr, err))
	}
	return errors.Join(errs...)
}

func (r Renewal) ask(ctx context.Context, addr string, csr []byte) error {
	conn, err := r.Dial(ctx, addr)
	if err != nil {
		return err
	}
	if c, ok := conn.(interface{ Close() error }); ok {
		defer func() { _ = c.Close() }() // the answer is here, or will not come
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	answer, err := agentv1.NewAgentsClient(conn).Renew(ctx, &agentv1.RenewRequest{Csr: csr})
	if err != nil {
		return errors.New(status.Convert(err).Message())
	}
	next, err := saveCertificate(r.State, answer.GetCertificate(), answer.GetCa())
	if err != nil {
		return err
	}
	r.Source.Set(next)
	return nil
}
