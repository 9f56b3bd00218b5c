package coordinator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// JoinConfig says which cluster to join, and as whom.
type JoinConfig struct {
	Dir          string
	Token        string
	Coordinators []string // API addresses of members, asked in turn
	Name         string   // of this member
	API          string   // host:port under which others reach it
	Raft         string
	Dial         func(ctx context.Context, addr string) (net.Conn, error) // nil: TCP
	Version      string
}

// Join makes this machine a member of a cluster that runs; its first Run takes part. A
// join that was cut off is repeated with the same token.
func Join(ctx context.Context, c JoinConfig) error {
	p := place{Name: c.Name, API: c.API, Raft: c.Raft}
	if err := p.check(); err != nil {
		return err
	}
	token, err := identity.ParseToken(c.Token)
	if err != nil {
		return err
	}
	if err := fresh(c.Dir); err != nil {
		return err
	}
	if c.Dial == nil {
		c.Dial = dialTCP
	}
	key, err := identityDir(c.Dir).EnsureKey()
	if err != nil {
		return err
	}
	csr, err := identity.NewRequest(key)
	if err != nil {
		return err
	}
	answer, index, err := c.ask(ctx, token, &adminv1.JoinMemberRequest{
		Token: c.Token, Csr: csr, Name: c.Name, RaftAddr: c.Raft, ApiAddr: c.API, Version: c.Version,
		LowestFormat: state.MinFormat, HighestFormat: state.MaxFormat,
	})
	if err != nil {
		return err
	}
	return c.keep(p, index, answer)
}

// ask redeems the token with the first coordinator that answers. index is of the log, at
// which the answer is true.
func (c JoinConfig) ask(ctx context.Context, token identity.Token, req *adminv1.JoinMemberRequest) (_ *adminv1.JoinMemberResponse, index uint64, _ error) {
	if len(c.Coordinators) == 0 {
		return nil, 0, fmt.Errorf("%w: name a coordinator to join", model.ErrInvalid)
	}
	var errs []error
	for _, addr := range c.Coordinators {
		conn, err := dialAPI(addr, c.Dial, identity.PinnedTLS(token.CA, time.Now))
		if err != nil {
			return nil, 0, err
		}
		var head metadata.MD
		call, cancel := context.WithTimeout(ctx, 30*time.Second)
		answer, err := adminv1.NewClusterClient(conn).JoinMember(call, req, grpc.Header(&head))
		cancel()
		_ = conn.Close() // the answer is here, or will not come
		if err == nil {
			index, err = strconv.ParseUint(strings.Join(head.Get(door.HeaderIndex), ""), 10, 64)
			return answer, index, err
		}
		errs = append(errs, fmt.Errorf("join by %s: %s", addr, status.Convert(err).Message()))
	}
	return nil, 0, errors.Join(errs...)
}

func (c JoinConfig) keep(p place, index uint64, answer *adminv1.JoinMemberResponse) error {
	cert, err := x509.ParseCertificate(answer.GetCertificate())
	if err != nil {
		return fmt.Errorf("read the certificate from the cluster: %w", err)
	}
	ca, err := x509.ParseCertificate(answer.GetCa())
	if err != nil {
		return fmt.Errorf("read the CA of the cluster: %w", err)
	}
	sealing, err := identity.ParseSealingKey(answer.GetSealingKey())
	if err != nil {
		return fmt.Errorf("read the sealing key of the cluster: %w", err)
	}
	if _, err := identityDir(c.Dir).Save(cert, identity.Roots{ca}); err != nil {
		return err
	}
	if err := identity.WriteFile(sealingFile(c.Dir), sealing.Reveal()); err != nil {
		return err
	}
	members := roster{Index: index, Time: identity.IssuedAt(cert), Keys: answer.GetMemberKeys()}
	if err := members.save(c.Dir); err != nil {
		return err
	}
	return p.save(c.Dir)
}

// dialAPI makes a client of a coordinator's API; nothing is sent yet.
func dialAPI(addr string, dial func(context.Context, string) (net.Conn, error), config *tls.Config) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(credentials.NewTLS(config)), grpc.WithContextDialer(dial), grpc.WithNoProxy())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return conn, nil
}
