package lvm

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Name{
			Volume:  rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,46}[a-z0-9])?`).Draw(t, "volume"),
			Device:  rapid.IntRange(0, 65535).Draw(t, "device"),
			Replica: rapid.IntRange(0, 31).Draw(t, "replica"),
		}
		if err := want.Validate(); err != nil {
			t.Fatal(err)
		}
		if !nameRE.MatchString(want.String()) {
			t.Fatalf("LVM would refuse %s", want)
		}
		got, ok := ParseName(want.String())
		if !ok || got != want {
			t.Fatalf("%s came back as %+v, %v", want, got, ok)
		}
	})
}

func TestBadNames(t *testing.T) {
	for _, n := range []Name{
		{Volume: ""},
		{Volume: "-db"},
		{Volume: "db-"},
		{Volume: "Db"},
		{Volume: "a.b"},
		{Volume: "a_b"},
		{Volume: strings.Repeat("a", 49)},
		{Volume: "db", Device: -1},
		{Volume: "db", Device: 65536},
		{Volume: "db", Replica: -1},
		{Volume: "db", Replica: 32},
	} {
		if n.Validate() == nil {
			t.Errorf("%+v is valid", n)
		}
	}
	for _, lv := range []string{
		"", "data", "rvol-", "rvol-db", "rvol-db.0", "rvol-db.0.32", "rvol-db.00.1", "rvol-db.0.01", "rvol-db.0.1.2",
		"rvol-db.65536.0", "rvol-DB.0.1", "rvol-db.0.1\n", "rvol-" + strings.Repeat("a", 49) + ".0.1",
	} {
		if n, ok := ParseName(lv); ok {
			t.Errorf("%q is taken for %+v", lv, n)
		}
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("rvol-db.0.1")
	f.Add("rvol-a.b.0.1")
	f.Fuzz(func(t *testing.T, lv string) {
		if n, ok := ParseName(lv); ok && n.String() != lv {
			t.Errorf("%q came back as %q", lv, n)
		}
	})
}
