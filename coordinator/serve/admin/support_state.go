package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
	"rvol/proto/redact"
)

// source is one file of the coordinators' part of a support bundle. What the admin API answers is what may be told:
// secrets are objects that it has no answer for.
type source struct {
	name string
	read func() ([]byte, error)
}

// answers makes the source of what a list answers, an object in each line.
func answers[R any, T proto.Message](name string, list func(context.Context, *adminv1.ListRequest) (R, error), items func(R) []T) func(context.Context) source {
	return func(ctx context.Context) source {
		return source{"state/" + name + ".jsonl", func() ([]byte, error) {
			r, err := list(ctx, &adminv1.ListRequest{Stale: true})
			if err != nil {
				return nil, err
			}
			return jsonLines(items(r))
		}}
	}
}

func (s *support) sources(ctx context.Context, v state.View) []source {
	a := s.api
	list := []source{
		{"coordinator/self.json", func() ([]byte, error) { return json.MarshalIndent(a.Self(), "", "  ") }},
		{"coordinator/metrics.txt", a.Scrape},
		{"cluster/status.jsonl", func() ([]byte, error) {
			r, err := (&cluster{api: a}).Status(ctx, &adminv1.ClusterStatusRequest{Stale: true})
			return oneLine(r, err)
		}},
		{"cluster/check.jsonl", func() ([]byte, error) {
			r, err := (&cluster{api: a}).Check(ctx, &adminv1.ClusterCheckRequest{Stale: true})
			return oneLine(r, err)
		}},
		{"cluster/events.jsonl", func() ([]byte, error) {
			r, err := (&events{api: a}).List(ctx, &adminv1.ListEventsRequest{Limit: bundleEvents})
			if err != nil {
				return nil, err
			}
			return jsonLines(r.GetEvents())
		}},
		{"state/decisions.jsonl", func() ([]byte, error) { return decisionLines(v) }},
	}
	for _, of := range []func(context.Context) source{
		answers("nodes", (&nodes{api: a}).List, (*adminv1.ListNodesResponse).GetNodes),
		answers("lvgs", (&lvgs{api: a}).List, (*adminv1.ListLVGsResponse).GetLvgs),
		answers("pools", (&pools{api: a}).List, (*adminv1.ListPoolsResponse).GetPools),
		answers("classes", (&classes{api: a}).List, (*adminv1.ListClassesResponse).GetClasses),
		answers("volumes", (&volumes{api: a}).List, (*adminv1.ListVolumesResponse).GetVolumes),
		answers("operations", (&operations{api: a}).List, (*adminv1.ListOperationsResponse).GetOperations),
		answers("holds", (&holds{api: a}).List, (*adminv1.ListHoldsResponse).GetHolds),
		answers("orphans", (&orphans{api: a}).List, (*adminv1.ListOrphansResponse).GetOrphans),
		answers("tokens", (&tokens{api: a}).List, (*adminv1.ListTokensResponse).GetTokens),
	} {
		list = append(list, of(ctx))
	}
	return list
}

func oneLine[T proto.Message](m T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return jsonLines([]T{m})
}

func jsonLines[T proto.Message](list []T) ([]byte, error) {
	var b bytes.Buffer
	for i, m := range list {
		shown := proto.Clone(m)
		hideProperties(shown.ProtoReflect())
		line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(shown)
		if err != nil {
			return b.Bytes(), fmt.Errorf("write %s: %w", m.ProtoReflect().Descriptor().Name(), err)
		}
		if b.Len()+len(line) > sourceBytes {
			return b.Bytes(), fmt.Errorf("%d of %d were left out: the file is full", len(list)-i, len(list))
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

// hideProperties keeps the names of properties alone: what others keep in them is nobody's business here.
func hideProperties(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap() && f.Name() == "properties":
			v.Map().Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
				v.Map().Set(k, protoreflect.ValueOfString(redact.Removed))
				return true
			})
		case f.IsMap() || f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := range v.List().Len() {
				hideProperties(v.List().Get(i).Message())
			}
		default:
			hideProperties(v.Message())
		}
		return true
	})
}

func decisionLines(v state.View) ([]byte, error) {
	var b bytes.Buffer
	for d := range state.All[*model.Decision](v) {
		line, err := json.Marshal(d)
		if err != nil {
			return b.Bytes(), fmt.Errorf("write decision %s: %w", d.Name, err)
		}
		if b.Len()+len(line) > sourceBytes {
			return b.Bytes(), fmt.Errorf("those from %s on were left out: the file is full", d.Name)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}
