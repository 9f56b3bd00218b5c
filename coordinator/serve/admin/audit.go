package admin

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"

	"rvol/coordinator/audit"
	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type trail struct {
	adminv1.UnimplementedAuditServer
	*api
}

// Entries returns the headers of this coordinator's trail, refusals included.
func (s *trail) Entries(r *adminv1.AuditEntriesRequest, stream grpc.ServerStreamingServer[adminv1.AuditEntry]) error {
	from := r.GetSince()
	if from == 0 {
		from = s.Trail.First()
	}
	for {
		headers, err := s.Trail.Read(from, page)
		if err != nil || len(headers) == 0 {
			return err
		}
		for _, h := range headers {
			if r.GetUntil() > 0 && h.Index > r.GetUntil() {
				return nil
			}
			if r.GetActor() != "" && r.GetActor() != h.Actor {
				continue
			}
			e, err := entryOf(h)
			if err != nil {
				return err
			}
			if err := stream.Send(e); err != nil {
				return err
			}
		}
		from = headers[len(headers)-1].Index + 1
	}
}

func entryOf(h state.Header) (*adminv1.AuditEntry, error) {
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	out := &adminv1.AuditEntry{
		Index: h.Index, Number: int32(h.Number), Time: timestamp(h.Time), Actor: h.Actor, Cause: h.Cause, Objects: objectsOf(h), Line: string(line),
	}
	if h.Refusal != nil {
		out.Refused = h.Refusal.Error()
	}
	return out, nil
}

func objectsOf(h state.Header) (out []string) {
	for _, keys := range [][]model.Key{h.Put, h.Delete} {
		for _, k := range keys {
			out = append(out, k.String())
		}
	}
	return out
}

// Verify reads the whole trail of this coordinator, and compares its end with the state.
func (s *trail) Verify(context.Context, *adminv1.AuditVerifyRequest) (*adminv1.AuditReport, error) {
	v := s.Store.View()
	out := &adminv1.AuditReport{Coordinator: s.Name}
	r, finding := s.verified()
	if finding != "" {
		out.Finding = finding
		return out, nil
	}
	var err error
	out.Headers, out.First, out.Last, out.Chain, out.Gaps = int64(r.Headers), r.First, r.Last, r.Chain.String(), r.Gaps
	out.Finding, err = s.unlike(v, r.Last)
	return out, err
}

// verified is what the trail is like, or what is wrong with it.
func (s *trail) verified() (r audit.Report, finding string) {
	r, err := s.Trail.Verify()
	if err != nil {
		finding = err.Error()
	}
	return r, finding
}

// unlike says how the trail differs from the state, whose hash covers the head of its chain.
func (s *trail) unlike(v state.View, last uint64) (string, error) {
	if last < v.Index() {
		return fmt.Sprintf("it ends at index %d, and the state is at %d: what came after is missing", last, v.Index()), nil
	}
	headers, err := s.Trail.Read(v.Index(), 1)
	if err != nil {
		return "", err
	}
	chain := v.Chain()
	for _, h := range headers {
		if h.Index == v.Index() {
			chain = h.Hash // the last of them counts
		}
	}
	if chain != v.Chain() {
		return fmt.Sprintf("its hash at index %d is %s, and the state says %s: it was written anew", v.Index(), chain, v.Chain()), nil
	}
	return "", nil
}
