package model

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// filler makes up values of any type of this package.
type filler struct{ *rand.Rand }

var words = []string{
	"", "n1", "db-1/0", "Replica scheduled successfully", "400 candidates (node×LVG)", `a "quoted" \ word`, "<a>&b", "tab\tline\n", "\u2028",
	"\x7f", "\xff broken", "\U0001f600",
}

func (f filler) fill(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		zones := []*time.Location{time.UTC, time.FixedZone("", 2*60*60+30*60), time.Local}
		if f.IntN(3) > 0 {
			*x = time.Unix(f.Int64N(1<<33), f.Int64N(1e9)).In(zones[f.IntN(len(zones))])
		}
		return
	case *json.RawMessage:
		*x = []json.RawMessage{nil, []byte(`[]`), []byte(`[{"id":1,"message":"a \u003c b"}]`), []byte(`"×"`)}[f.IntN(4)]
		return
	case *netip.Addr:
		*x = netip.AddrFrom4([4]byte{10, 0, 0, byte(f.IntN(256))})
		return
	case *netip.AddrPort:
		*x = netip.AddrPortFrom(netip.MustParseAddr("fe80::1%<eth0>"), uint16(f.IntN(1<<16)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(words[f.IntN(len(words))])
	case reflect.Bool:
		v.SetBool(f.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 17000, 1 << 40, math.MaxInt64, math.MinInt64}[f.IntN(7)])
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(f.IntN(256)))
	case reflect.Pointer:
		if f.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if n := f.IntN(4); n < 3 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			f.each(v)
		}
	case reflect.Array:
		f.each(v)
	case reflect.Map:
		if n := f.IntN(4); n < 3 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				f.fill(key)
				f.fill(value)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	default:
		panic(v.Type().String())
	}
}

func (f filler) each(v reflect.Value) {
	for i := range v.Len() {
		f.fill(v.Index(i))
	}
}

func TestEncodingIsThatOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	f := filler{rand.New(rand.NewPCG(1, 2))}
	for kind, make := range blank {
		for range 300 {
			o := make()
			f.fill(reflect.ValueOf(o).Elem())
			want, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Encode(o)
			if err != nil || string(got) != string(want) {
				t.Fatalf("%s: %v\n got %s\nwant %s", kind, err, got, want)
			}
			decodesAlike(t, kind, want)
		}
	}
}

// decodesAlike demands that Decode makes of b what encoding/json does, and remembers b.
func decodesAlike(t *testing.T, kind Kind, b []byte) {
	t.Helper()
	want, wantErr := New(kind), error(nil)
	wantErr = json.Unmarshal(b, want)
	got, err := Decode(kind, b, 7)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: %s: %v, want %v", kind, b, err, wantErr)
	}
	if err != nil {
		return
	}
	if raw := Raw(got); string(raw) != string(b) {
		t.Fatalf("%s: %s is remembered as %s", kind, b, raw)
	}
	bare := got.Info()
	bare.Revision, bare.raw, bare.stored = 0, nil, 0
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %s\n got %+v\nwant %+v", kind, b, got, want)
	}
}

func TestUnusualWritingIsReadAndRemembered(t *testing.T) {
	t.Parallel()
	for _, b := range []string{
		`{}`, `null`, ` {"name" : "db-1/0"}`, `{"NAME":"x"}`, `{"name":"a","name":"b"}`, `{"id":3,"name":"out of order"}`, `{"name":"\u0041"}`,
		`{"name":"x","later":{"a":[1,{}]}}`, `{"name":null,"devices":null}`, `{"devices":[]}`, `{"devices":[{},{"minor":-0}]}`, `{"id":01}`, `{"id":1e3}`,
		`{"id":9223372036854775807}`, `{"id":9223372036854775808}`, `{"name":"x"}}`, `{"name":"x",}`, `{"name":"x"`, `{"labels":{"a":1}}`, `{"labels":{"b":"1","a":"2"}}`,
		`{"created_at":"2026-01-01T00:00:00.500Z"}`, `{"created_at":"2026-01-01"}`, `{"name":"` + "\xff" + `"}`, `{"name":"` + "\x01" + `"}`, `{"name":"\`, `{"waiting_since":-1}`,
	} {
		decodesAlike(t, KindReplica, []byte(b))
	}
}

func FuzzDecode(f *testing.F) {
	fill := filler{rand.New(rand.NewPCG(3, 4))}
	for kind, make := range blank {
		o := make()
		fill.fill(reflect.ValueOf(o).Elem())
		b, err := Encode(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(kind), b)
	}
	f.Fuzz(func(t *testing.T, kind string, b []byte) {
		if New(Kind(kind)) != nil {
			decodesAlike(t, Kind(kind), b)
		}
	})
}

func TestAnObjectChangedInTheViewIsNoticed(t *testing.T) {
	t.Parallel()
	o, err := Decode(KindNode, []byte(`{"name":"n1","zone":"a"}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	o.(*Node).Zone = "b"
	defer func() {
		if says, _ := recover().(string); !strings.Contains(says, "node/n1 was changed in the view") {
			t.Errorf("it says %q", says)
		}
	}()
	Raw(o)
}
