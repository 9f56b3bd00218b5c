package serve

import (
	"testing"

	"google.golang.org/grpc/codes"

	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/identity"
)

func TestCallsFromInsideAreThoseOfAPerson(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		for _, name := range []string{"c1", "c2"} { // c2 hands on to c1, which leads
			conn, err := w.servers[name].server.Inside()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }() // nothing is under way
			own, err := w.person(identity.Admin).Current()
			if err != nil {
				t.Fatal(err)
			}
			key := identity.FingerprintOf(own.Certificate())
			pools := adminv1.NewPoolsClient(As(conn, own.ID, key))
			if _, err := pools.List(t.Context(), &adminv1.ListRequest{}); err != nil {
				t.Errorf("%s: a person may not look: %v", name, err)
			}
			_, err = pools.Create(t.Context(), named("p"))
			code(t, err, codes.PermissionDenied, "only looks")
			_, err = adminv1.NewPoolsClient(conn).List(t.Context(), &adminv1.ListRequest{})
			code(t, err, codes.PermissionDenied, "nobody's name")
			agent := identity.ID{Cluster: "test", Role: identity.Agent, Name: "n1"}
			_, err = adminv1.NewPoolsClient(As(conn, agent, key)).List(t.Context(), &adminv1.ListRequest{})
			code(t, err, codes.PermissionDenied, "agent/n1")
			w.revoke("bert")
			bert := identity.ID{Cluster: "test", Role: identity.Admin, Name: "bert"}
			_, err = adminv1.NewPoolsClient(As(conn, bert, key)).List(t.Context(), &adminv1.ListRequest{})
			code(t, err, codes.PermissionDenied, "admin/bert")
		}
	})
}

func TestNobodyComesFromInsideByTheDoor(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		id := identity.ID{Cluster: "test", Role: identity.Admin, Name: "anna"}
		stranger := As(w.connect("c1", nil), id, identity.Fingerprint{})
		_, err := adminv1.NewPoolsClient(stranger).List(t.Context(), &adminv1.ListRequest{})
		code(t, err, codes.PermissionDenied, "stranger")
	})
}
