package agents

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	adminv1 "rvol/proto/admin/v1"
	agentv1 "rvol/proto/agent/v1"
)

// front is the admin API, as far as a node reaches it.
type front struct {
	adminv1.UnimplementedVolumesServer
	asked []string
	ready string
}

func (f *front) note(ctx context.Context, verb string, r *adminv1.AttachRequest) {
	f.asked = append(f.asked, door.From(ctx).Actor()+" "+verb+" "+r.GetVolume()+" "+r.GetNode())
}

func (f *front) Attach(ctx context.Context, r *adminv1.AttachRequest) (*adminv1.Attachment, error) {
	f.note(ctx, "attach", r)
	return &adminv1.Attachment{
		Device: "/dev/rvol/" + r.GetVolume(), Message: "becomes Primary",
		Conditions: []*adminv1.Condition{{Type: "Attached", Status: "True"}, {Type: "Ready", Status: f.ready}},
	}, nil
}

func (f *front) Detach(ctx context.Context, r *adminv1.AttachRequest) (*adminv1.Done, error) {
	f.note(ctx, "detach", r)
	return &adminv1.Done{Message: "becomes Secondary"}, nil
}

// volume has a replica on each of the nodes, and is in use on users.
func (w *world) volume(name string, most int, nodes, users []string) {
	w.t.Helper()
	vol := &model.Volume{MaxAttachments: most}
	vol.Name = name
	w.put(vol)
	for i, node := range nodes {
		r := &model.Replica{Volume: name, ID: i, Node: node, Type: model.Diskful}
		r.Name, r.UID = model.ReplicaName(name, i), name+node
		w.put(r)
	}
	for _, node := range users {
		a := &model.Attachment{Volume: name, Node: node}
		a.Name = model.AttachmentName(name, node)
		w.put(a)
	}
}

func TestANodeUsesVolumesOnItselfAlone(t *testing.T) {
	for _, tc := range []struct {
		name         string
		most         int
		nodes, users []string
		says         string // the refusal; "": it goes through
	}{
		{"it has a copy", 1, []string{"n1", "n2"}, nil, ""},
		{"it uses it already", 1, []string{"n2"}, []string{"n1"}, ""},
		{"another uses it, and so may two", 2, []string{"n1", "n2"}, []string{"n2"}, ""},
		{"it has no replica", 1, []string{"n2", "n3"}, nil, "node n1 has no replica of it, and may not give itself one"},
		{"another node uses it", 1, []string{"n1", "n2"}, []string{"n2"}, "in use on node n2, and a machine takes no volume from another"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				t := w.t
				for _, n := range []string{"n1", "n2", "n3"} {
					w.node(n)
				}
				w.volume("db-1", tc.most, tc.nodes, tc.users)
				ctx := metadata.AppendToOutgoingContext(t.Context(), testCaller, "n1")
				w.front.ready = "True"
				got, err := w.client.Attach(ctx, &agentv1.AttachRequest{Volume: "db-1"})
				if tc.says != "" {
					refused(t, err, tc.says)
					if len(w.front.asked) > 0 {
						t.Errorf("asked for all the same: %q", w.front.asked)
					}
					return
				}
				if err != nil || !got.GetReady() || got.GetDevice() != "/dev/rvol/db-1" {
					t.Errorf("got %v, %v", got, err)
				}
				if diff := cmp.Diff([]string{"agent/n1 attach db-1 n1"}, w.front.asked); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestANodeIsToldWhatAnAttachmentWaitsFor(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.node("n1")
		w.volume("db-1", 1, []string{"n1"}, nil)
		ctx := metadata.AppendToOutgoingContext(t.Context(), testCaller, "n1")
		w.front.ready = "False"
		got, err := w.client.Attach(ctx, &agentv1.AttachRequest{Volume: "db-1"})
		if err != nil || got.GetReady() || got.GetMessage() != "becomes Primary" {
			t.Errorf("got %v, %v", got, err)
		}
		_, err = w.client.Attach(ctx, &agentv1.AttachRequest{Volume: "db-9"})
		refused(t, err, "volume db-9: not found")
	})
}

func TestANodeEndsItsOwnUseAlone(t *testing.T) {
	bubble(t, func(w *world) {
		t := w.t
		w.node("n1")
		w.node("n2")
		w.volume("db-1", 2, []string{"n1", "n2"}, []string{"n1", "n2"})
		w.volume("db-2", 1, []string{"n1", "n2"}, []string{"n2"})
		ctx := metadata.AppendToOutgoingContext(t.Context(), testCaller, "n1")
		got, err := w.client.Detach(ctx, &agentv1.DetachRequest{Volume: "db-1"})
		if err != nil || got.GetGone() || got.GetMessage() != "becomes Secondary" {
			t.Errorf("got %v, %v", got, err)
		}
		got, err = w.client.Detach(ctx, &agentv1.DetachRequest{Volume: "db-2"})
		if err != nil || !got.GetGone() {
			t.Errorf("not attached here: got %v, %v", got, err)
		}
		if diff := cmp.Diff([]string{"agent/n1 detach db-1 n1"}, w.front.asked); diff != "" {
			t.Error(diff)
		}
	})
}
