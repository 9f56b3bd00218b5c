package serve

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

// answers is the one table of errors: the code that a client gets, and what to do next
// where the error does not say so itself. The first row that fits counts.
var answers = []struct {
	is   error
	code codes.Code
	next string
}{
	{model.ErrInvalid, codes.InvalidArgument, ""},
	{model.ErrNotFound, codes.NotFound, ""},
	{model.ErrExists, codes.AlreadyExists, "use another name, or look at the one that is there"},
	{model.ErrConflict, codes.Aborted, "look at it again and repeat the command"},
	{model.ErrNoSpace, codes.ResourceExhausted, "free some space, or offer more with `rvol lvg create`"},
	{model.ErrQuota, codes.ResourceExhausted, "delete volumes that it counts, or let an admin raise it: `rvol quota list`, `rvol quota set`"},
	{model.ErrOverloaded, codes.ResourceExhausted, ""},
	{model.ErrBusy, codes.FailedPrecondition, ""},
	{model.ErrForbidden, codes.PermissionDenied, ""},
	{model.ErrCompacted, codes.OutOfRange, "begin again from the oldest there is"},
	{model.ErrUnknown, codes.Unavailable, "repeat it with the same request id: it is carried out once at most"},
	{model.ErrStopped, codes.Unavailable, "ask another coordinator, and look at this one's disk"},
	{model.ErrUnavailable, codes.Unavailable, "see that a majority of the coordinators runs: `rvol cluster status --stale`"},
	{identity.ErrInvalidToken, codes.InvalidArgument, "copy the token whole, as `rvol token create` showed it"},
	{identity.ErrWrongToken, codes.PermissionDenied, "make one with `rvol token create`"},
	{identity.ErrTokenExpired, codes.PermissionDenied, "make another with `rvol token create`"},
	{identity.ErrTokenUsed, codes.PermissionDenied, "make another with `rvol token create`"},
	{identity.ErrTokenName, codes.PermissionDenied, "make another with `rvol token create`"},
	{identity.ErrLapsed, codes.Unauthenticated, "renew the certificate"},
	{identity.ErrNotYetValid, codes.Unauthenticated, "compare the clocks of the two machines"},
	{context.DeadlineExceeded, codes.DeadlineExceeded, ""},
	{context.Canceled, codes.Canceled, ""},
}

// errInternal marks an answer whose cause stands in the log only.
var errInternal = status.Error(codes.Internal, "internal error: the coordinator's log has the details")

// answer turns an error of a service into what the client gets. It reports false for an
// error that is not in the table, which is told to nobody but the log.
func answer(err error) (error, bool) {
	if err == nil {
		return nil, true
	}
	if _, ok := status.FromError(err); ok {
		return err, true
	}
	for _, row := range answers {
		if errors.Is(err, row.is) {
			return withDetail(row.code, row.next, err), true
		}
	}
	return errInternal, false
}

func withDetail(code codes.Code, next string, err error) error {
	s := status.New(code, err.Error())
	detail := detail(err)
	if detail.Next == "" {
		detail.Next = next
	}
	if d, failed := s.WithDetails(detail); failed == nil {
		s = d
	}
	return s.Err()
}

// detail is the machine-readable half of an error.
func detail(err error) *adminv1.Refusal {
	if r, ok := errors.AsType[*door.Refused](err); ok {
		out := &adminv1.Refusal{Object: r.Object, Reason: r.Reason, Next: r.Next, Asked: r.Asked, Available: r.Available}
		if r.RetryAfter > 0 {
			out.RetryAfter = durationpb.New(r.RetryAfter)
		}
		return out
	}
	if r, ok := errors.AsType[*model.Refusal](err); ok {
		return &adminv1.Refusal{Constraint: r.Constraint, Object: r.Object, Asked: r.Asked, Available: r.Available, Reason: r.Reason}
	}
	return &adminv1.Refusal{Reason: err.Error()}
}

// panicked is what a service that panicked answered.
func panicked(what any, stack []byte) error {
	return fmt.Errorf("panic: %v\n%s", what, stack)
}
