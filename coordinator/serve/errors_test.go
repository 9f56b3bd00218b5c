package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

func TestErrorsBecomeCodes(t *testing.T) {
	volume := model.Key{Kind: model.KindVolume, Name: "db-1"}
	for _, tc := range []struct {
		name string
		err  error
		code codes.Code
		says string
	}{
		{"what cannot be", door.Invalid(volume, "size 0"), codes.InvalidArgument, "volume db-1: size 0"},
		{"what is not there", door.NotFound(volume), codes.NotFound, "volume db-1: not found"},
		{"what is there already", model.ErrExists, codes.AlreadyExists, "exists already"},
		{"what changed meanwhile", fmt.Errorf("write: %w", model.ErrConflict), codes.Aborted, "changed since it was read"},
		{"what does not fit", &model.Refusal{Constraint: model.ConstraintCapacity, Object: "pool n1/vg0", Reason: "1 GiB asked"}, codes.ResourceExhausted, "pool n1/vg0: 1 GiB asked"},
		{"what has a number that is taken", &model.Refusal{Constraint: model.ConstraintUnique, Object: "replica/db-1/0", Reason: "port 17000 is taken"}, codes.AlreadyExists, "port 17000"},
		{"what is in use", door.Refuse(model.ErrBusy, volume, "in use on node b", "detach it"), codes.FailedPrecondition, "in use on node b"},
		{"what one may not", model.ErrForbidden, codes.PermissionDenied, "not allowed"},
		{"another leader", &model.NotLeaderError{Leader: "c2:7170"}, codes.Unavailable, "ask c2:7170"},
		{"no leader", &model.NotLeaderError{}, codes.Unavailable, "no majority"},
		{"who knows", fmt.Errorf("%w: the leader went", model.ErrUnknown), codes.Unavailable, "outcome unknown"},
		{"a disk that failed", model.ErrStopped, codes.Unavailable, "stopped after a storage failure"},
		{"what is no longer kept", model.ErrCompacted, codes.OutOfRange, "compacted"},
		{"half a token", fmt.Errorf("%w: half", identity.ErrInvalidToken), codes.InvalidArgument, "invalid token"},
		{"somebody else's token", identity.ErrTokenUsed, codes.PermissionDenied, "used by another machine"},
		{"an old token", identity.ErrTokenExpired, codes.PermissionDenied, "expired"},
		{"an old certificate", identity.ErrLapsed, codes.Unauthenticated, "lapsed"},
		{"too late", fmt.Errorf("wait: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "deadline"},
		{"given up", context.Canceled, codes.Canceled, "canceled"},
		{"a leader's answer", status.Error(codes.NotFound, "volume x: not found"), codes.NotFound, "volume x: not found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, known := answer(tc.err)
			if s := status.Convert(got); !known || s.Code() != tc.code || !strings.Contains(s.Message(), tc.says) {
				t.Errorf("got %v (known %v), want %s with %q", got, known, tc.code, tc.says)
			}
		})
	}
}

func TestWhatIsNotInTheTableIsToldToNobody(t *testing.T) {
	got, known := answer(errors.New("open /secret/path: denied"))
	if known || status.Code(got) != codes.Internal || strings.Contains(got.Error(), "secret") {
		t.Errorf("got %v (known %v), want Internal without the cause", got, known)
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	volume := model.Key{Kind: model.KindVolume, Name: "db-1"}
	for _, tc := range []struct {
		name string
		err  error
		want *adminv1.Refusal
	}{
		{
			"a service's own words", door.Refuse(model.ErrBusy, volume, "in use on node b", "detach it"),
			&adminv1.Refusal{Object: "volume/db-1", Reason: "in use on node b", Next: "detach it"},
		},
		{
			"a constraint, with the step that its kind asks for",
			fmt.Errorf("place: %w", &model.Refusal{Constraint: model.ConstraintCapacity, Object: "pool n1/vg0", Asked: 3, Available: 2, Reason: "3 bytes asked"}),
			&adminv1.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: 3, Available: 2, Reason: "3 bytes asked",
				Next: "free some space, or offer more with `rvol lvg create`",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _ := answer(tc.err)
			var detail *adminv1.Refusal
			for _, d := range status.Convert(got).Details() {
				detail, _ = d.(*adminv1.Refusal)
			}
			if diff := cmp.Diff(tc.want, detail, protocmp.Transform()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
