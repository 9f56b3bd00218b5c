package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	adminv1 "rvol/proto/admin/v1"
)

func TestEveryAnswerHasItsExitStatus(t *testing.T) {
	for _, tt := range []struct {
		answer error
		code   int
		says   string
	}{
		{nil, 0, ""},
		{status.Error(codes.Internal, "disk on fire"), 1, "rvol: disk on fire.\n"},
		{status.Error(codes.PermissionDenied, "viewer may not create volumes"), 1, "rvol: viewer may not create volumes. Use a certificate of a role that may: see `rvol-coordinator admin-cert --help`.\n"},
		{status.Error(codes.Unimplemented, "unknown method Create"), 1, "rvol: unknown method Create. The coordinator is older than this rvol: upgrade it.\n"},
		{status.Error(codes.InvalidArgument, "volume name \"X\": want a-z"), 2, "rvol: volume name \"X\": want a-z. See `rvol volume create --help`.\n"},
		{status.Error(codes.NotFound, "gone"), 3, "rvol: gone.\n"},
		{refusal(codes.NotFound, "class r3: not found", &adminv1.Refusal{Object: "class/r3"}), 3, "rvol: class r3: not found. Did you mean r2? See `rvol class list`.\n"},
		{refusal(codes.AlreadyExists, "volume x: exists already", &adminv1.Refusal{Object: "volume/x", Next: "choose another name"}), 4, "rvol: volume x: exists already. Choose another name.\n"},
		{status.Error(codes.Aborted, "volume x: changed since it was read"), 4, "rvol: volume x: changed since it was read. Look at it again and repeat the command.\n"},
		{status.Error(codes.FailedPrecondition, "volume x: in use on node b"), 4, "rvol: volume x: in use on node b.\n"},
		{refusal(codes.ResourceExhausted, "n1/vg0: no space", &adminv1.Refusal{Constraint: "capacity", Object: "lvg/n1/vg0", Next: "Add disks."}), 5, "rvol: n1/vg0: no space. Add disks.\n"},
		{
			refusal(codes.ResourceExhausted, "too much at once", &adminv1.Refusal{Next: "try again after 2s", RetryAfter: durationpb.New(2 * time.Second)}), 7,
			"rvol: too much at once. Try again after 2s.\n",
		},
		{status.Error(codes.DeadlineExceeded, "no answer of n1"), 6, "rvol: no answer of n1. Ask for more time with --timeout.\n"},
		{
			status.Error(codes.Unavailable, "no leader: the coordinators have no majority"), 7,
			"rvol: no coordinator can answer: c1: no leader: the coordinators have no majority. " +
				"Check that a majority of the coordinators runs: `rvol cluster status --stale`. " +
				"The request may have been carried out: repeat it with --request-id mine.\n",
		},
	} {
		t.Run(status.Code(tt.answer).String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSession(t)
				s.fake.refuse["/rvol.admin.v1.Volumes/Create"] = tt.answer
				if code := s.run(t.Context(), "volume", "create", "x", "--size", "1GiB", "--class", "r2", "--request-id", "mine"); code != tt.code {
					t.Errorf("exit status %d, want %d", code, tt.code)
				}
				if diff := cmp.Diff(tt.says, s.err.String()); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestTheNextEndpointIsAsked(t *testing.T) {
	s := newSession(t)
	s.env.Endpoints = []string{"down", "c2"}
	if code := s.run(t.Context(), "volume", "list", "-o", "name"); code != 0 || s.out.String() != "volume/db-1\nvolume/db-2\n" {
		t.Errorf("exit status %d, output %q, errors %q", code, s.out, s.err)
	}
}

func TestAnElectionIsRiddenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		const fence = "/rvol.admin.v1.Nodes/Fence"
		s.fake.refuse[fence] = status.Error(codes.Unavailable, "no leader")
		time.AfterFunc(3*time.Second, func() { s.fake.edit(func(*world) { delete(s.fake.refuse, fence) }) })
		if code := s.run(t.Context(), "node", "fence", "n1", "--yes-i-mean", "n1"); code != 0 {
			t.Errorf("exit status %d: %s", code, s.err)
		}
		if len(slices.Compact(s.fake.ids)) != 1 || len(s.fake.ids) < 2 {
			t.Errorf("request ids %q, want one that is repeated", s.fake.ids)
		}
	})
}

func TestThatNobodyCanAnswerSaysMoreThanThatTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t)
		s.fake.refuse["/rvol.admin.v1.Volumes/List"] = status.Error(codes.Unavailable, "no leader")
		code := s.run(t.Context(), "volume", "list", "--timeout", "2s")
		if code != 7 {
			t.Errorf("exit status %d, want 7: %s", code, s.err)
		}
	})
}

func TestRequestIDs(t *testing.T) {
	s := newSession(t)
	s.run(t.Context(), "volume", "stop", "db-1", "--request-id", "mine")
	s.run(t.Context(), "volume", "list")
	if diff := cmp.Diff([]string{"mine"}, s.fake.ids); diff != "" {
		t.Errorf("ids sent (-want +got):\n%s", diff)
	}
	s.run(t.Context(), "volume", "stop", "db-1")
	s.run(t.Context(), "volume", "stop", "db-1")
	if ids := s.fake.ids[1:]; len(ids) != 2 || ids[0] == ids[1] || len(ids[0]) < 20 {
		t.Errorf("ids made %q, want two different ones", ids)
	}
}

func TestStaleAnswersAreLabelled(t *testing.T) {
	s := newSession(t)
	s.fake.head = metadata.Pairs("rvol-stale", "no leader for 12s", "rvol-index", "42")
	if code := s.run(t.Context(), "volume", "list", "-o", "name", "--stale"); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if diff := cmp.Diff("stale: no leader for 12s; as of index 42\n", s.err.String()); diff != "" {
		t.Errorf("warning (-want +got):\n%s", diff)
	}
	if q, ok := s.fake.asked["/rvol.admin.v1.Volumes/List"].(*adminv1.ListRequest); !ok || !q.GetStale() {
		t.Errorf("asked %v, want stale", q)
	}
}

func TestACoordinatorThatIsCutOffIsNotBelievedBeforeTheOthers(t *testing.T) {
	s, alone := newSession(t), newFake()
	alone.head, alone.world.volumes = metadata.Pairs("rvol-stale", "no leader for 12s"), nil
	others, isolated := s.env.Dial, alone.serve(t)
	s.env.Dial = func(ctx context.Context, endpoint string) (grpc.ClientConnInterface, error) {
		if endpoint == "alone" {
			return isolated(ctx, endpoint)
		}
		return others(ctx, endpoint)
	}
	for _, endpoints := range [][]string{{"alone", "c2"}, {"alone", "down", "c2"}} {
		s.env.Endpoints = endpoints
		if code := s.run(t.Context(), "volume", "list", "-o", "name"); code != 0 || s.out.String() != "volume/db-1\nvolume/db-2\n" || s.err.Len() > 0 {
			t.Errorf("%q: exit status %d, output %q, errors %q", endpoints, code, s.out, s.err)
		}
	}
	s.env.Endpoints = []string{"alone", "down"}
	if code := s.run(t.Context(), "volume", "list", "-o", "name"); code != 0 || s.out.Len() > 0 || s.err.String() != "stale: no leader for 12s\n" {
		t.Errorf("when nobody knows better: exit status %d, output %q, errors %q", code, s.out, s.err)
	}
}

func TestWhatIsAskedOfTheServer(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{
			"volume create x --size 1.5GiB,4096 --class r2 --attach-to n1,n2 --max-attachments 2 --label a=b --property k=v,w --drbd ping-int=5",
			`name:"x" class:"r2" sizes:1610612736 sizes:4096 attach_to:"n1" attach_to:"n2" max_attachments:2 labels:{key:"a" value:"b"} properties:{key:"k" value:"v,w"} drbd:{key:"ping-int" value:"5"}`,
		},
		{"volume list -l tier=gold --node n1 db-1", `names:"db-1" selector:"tier=gold" node:"n1"`},
		{"volume stop db-1", `name:"db-1" stopped:true`},
		{"volume start db-1", `name:"db-1" stopped:false`},
		{"volume set db-1 --unlabel a --max-attachments 2", `name:"db-1" labels:{remove:"a"} max_attachments:2`},
		{"volume delete db-1 --yes", `name:"db-1" confirm:"db-1"`},
		{"node cordon n1", `name:"n1" unschedulable:true`},
		{"node uncordon n1", `name:"n1" unschedulable:false`},
		{"node set n1 --zone", ``},
		{"node set n1 --zone=", `name:"n1" zone:""`},
		{"node fence n1 --yes-i-mean n1 --accept-stale", `name:"n1" confirm:"n1" accept_stale:true`},
		{"node unfence n1", `name:"n1" confirm:"n1" undo:true`},
		{"lvg create n2 vg1 --device /dev/sdb --thin-pool tp0 --thin-only", `node:"n2" vg:"vg1" thin_pools:"tp0" device:"/dev/sdb" thick_off:true`},
		{"lvg set n1/vg0 --uncordon --over-provisioning 150 --add-thin-pool tp1", `name:"n1/vg0" unschedulable:false over_provisioning_percent:150 add_thin_pools:"tp1"`},
		{"lvg list --node n1", `node:"n1"`},
		{"pool create p --type LVM --vg a --vg b --zone z1 --not-ready-grace 5m", `meta:{name:"p"} storage:{type:"LVM" vgs:"a" vgs:"b"} zones:"z1" not_ready_grace:{seconds:300}`},
		{"class create c --ftt 1 --gmdr 1 --pool p --topology Zonal --verify-every 24h", `meta:{name:"c"} ftt:1 gmdr:1 topology:"Zonal" pool:"p" verify_every:{seconds:86400} layout:"2D"`},
		{"class set r2 --gmdr 0 --wipe zero", `name:"r2" gmdr:0 wipe:"zero"`},
		{"replica list --volume db-1", `volume:"db-1"`},
		{"event list --since 5 --limit 3 --node n1", `since:5 node:"n1" limit:3`},
		{"token create coordinator --ttl 1h", `kind:"coordinator" ttl:{seconds:3600}`},
		{"cluster transfer-leadership c2", `to:"c2"`},
		{"cluster transfer-leadership", ``},
		{"cluster remove c3 --yes-i-mean c3", `name:"c3" confirm:"c3"`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			s := newSession(t)
			s.run(t.Context(), strings.Fields(tt.args)...)
			if got := strings.Join(strings.Fields(s.fake.lastAsked()), " "); got != tt.want {
				t.Errorf("asked %s\nwant  %s\n%s", got, tt.want, s.err)
			}
		})
	}
}

func TestConfigurationSaysWhomToAsk(t *testing.T) {
	s := newSession(t)
	s.env.Endpoints = nil
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "cluster: prod\nendpoints: [c1:7800, c2:7800]\nca: ca.pem\ncert: cert.pem\nkey: key.pem\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var dialed []string
	dial := s.env.Dial
	s.env.Dial = func(ctx context.Context, endpoint string) (c connection, err error) {
		dialed = append(dialed, endpoint)
		return dial(ctx, endpoint)
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		code int
		want []string
	}{
		{"a flag", nil, []string{"--config", file}, 0, []string{"c1:7800"}},
		{"the environment", map[string]string{"RVOL_CONFIG": file}, nil, 0, []string{"c1:7800"}},
		{"endpoints by flag come first", map[string]string{"RVOL_CONFIG": file}, []string{"--endpoint", "other:1"}, 0, []string{"other:1"}},
		{"no file", map[string]string{"HOME": "/nobody"}, nil, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dialed = nil
			s.env.Getenv = func(name string) string { return tt.env[name] }
			if code := s.run(t.Context(), append(tt.args, "volume", "list")...); code != tt.code {
				t.Errorf("exit status %d, want %d: %s", code, tt.code, s.err)
			}
			if diff := cmp.Diff(tt.want, dialed); diff != "" {
				t.Errorf("dialed (-want +got):\n%s", diff)
			}
		})
	}
	if want := "rvol: no configuration at /nobody/.config/rvol/config.yaml. "; !strings.HasPrefix(s.err.String(), want) {
		t.Errorf("message %q, want %q...", s.err, want)
	}
}
