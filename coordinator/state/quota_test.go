package state_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rvol/coordinator/model"
	"rvol/coordinator/model/selector"
	"rvol/coordinator/state"
)

// quota allows so many GiB, 0 for any, and so many volumes, -1 for any.
func quota(name, labels string, gibs, volumes int64) *model.Quota {
	q := &model.Quota{Meta: named(name), Selector: labels}
	if gibs > 0 {
		bytes := gibs * gib
		q.Bytes = &bytes
	}
	if volumes >= 0 {
		q.Volumes = &volumes
	}
	return q
}

// sized is a volume of a team, of so many GiB.
func sized(name, team string, gibs int64) *model.Volume {
	vol := volume(name, "r2")
	vol.Devices[0].Size = gibs * gib
	if team != "" {
		vol.Labels = map[string]string{"team": team}
	}
	return vol
}

// resizing is the status of a volume that is to have so many GiB.
func resizing(name string, gibs int64) *model.VolumeStatus {
	return &model.VolumeStatus{Meta: named(name), Transitions: []model.Transition{{Plan: "resize/v1", Devices: []model.VolumeDevice{{Size: gibs * gib}}}}}
}

func quotaCases(t *testing.T) []refusalCase {
	t.Helper()
	two := &model.Cluster{Meta: named("cluster"), Format: 2}
	over := func(reason string, asked, left int64) *model.Refusal {
		return &model.Refusal{Constraint: "quota", Object: "quota/a", Asked: asked, Available: left, Reason: reason}
	}
	tests := []refusalCase{
		{
			name: "growth past its bytes", given: []model.Object{quota("a", "team=a", 10, -1), sized("v1", "a", 7)},
			txn:  put(t, sized("v2", "a", 4)),
			want: over("4 GiB more asked, 3 GiB left (volumes with team=a: limit 10 GiB, used 7 GiB)", 4*gib, 3*gib),
		},
		{name: "exactly what is left", given: []model.Object{quota("a", "team=a", 10, -1), sized("v1", "a", 7)}, txn: put(t, sized("v2", "a", 3))},
		{name: "of volumes that it does not count", given: []model.Object{quota("a", "team=a", 10, -1), sized("v1", "a", 7)}, txn: put(t, sized("v2", "b", 9))},
		{
			name: "one volume too many", given: []model.Object{quota("a", "", 0, 1), sized("v1", "", 7)}, txn: put(t, sized("v2", "", 1)),
			want: over("1 volume more asked, 0 volumes left (all volumes: limit 1 volume, used 1 volume)", 1, 0),
		},
		{
			name: "nothing at all is allowed", given: []model.Object{quota("a", "team!=b", 0, 0)}, txn: put(t, sized("v1", "", 1)),
			want: over("1 volume more asked, 0 volumes left (volumes with team!=b: limit 0 volumes, used 0 volumes)", 1, 0),
		},
		{
			name: "a resize that begins", given: []model.Object{quota("a", "team=a", 10, -1), sized("v1", "a", 7)}, txn: put(t, resizing("v1", 12)),
			want: over("5 GiB more asked, 3 GiB left (volumes with team=a: limit 10 GiB, used 7 GiB)", 5*gib, 3*gib),
		},
		{
			name:  "a resize that was granted ends, whatever became of the limit",
			given: []model.Object{sized("v1", "a", 7), resizing("v1", 9), quota("a", "team=a", 8, -1)},
			txn:   put(t, sized("v1", "a", 9), &model.VolumeStatus{Meta: named("v1")}),
		},
		{
			name: "a size", given: []model.Object{quota("a", "team=a", 10, -1), sized("v1", "a", 7)}, txn: put(t, sized("v1", "a", 12)),
			want: over("5 GiB more asked, 3 GiB left (volumes with team=a: limit 10 GiB, used 7 GiB)", 5*gib, 3*gib),
		},
		{
			name: "a volume that is given its label", given: []model.Object{quota("a", "team=a", 10, -1), sized("v1", "a", 7), sized("v2", "b", 5)},
			txn:  put(t, sized("v2", "a", 5)),
			want: over("5 GiB more asked, 3 GiB left (volumes with team=a: limit 10 GiB, used 7 GiB)", 5*gib, 3*gib),
		},
		{
			name:  "one that loses it makes room for another in the same change",
			given: []model.Object{quota("a", "team=a", 10, -1), sized("v1", "a", 7), sized("v2", "b", 5)},
			txn:   put(t, sized("v2", "a", 5), sized("v1", "b", 7)),
		},
		{name: "shrinking while it is exceeded", given: []model.Object{sized("v1", "a", 7), quota("a", "team=a", 5, 0)}, txn: put(t, sized("v1", "a", 6))},
		{name: "removing while it is exceeded", given: []model.Object{sized("v1", "a", 7), quota("a", "team=a", 5, 0)}, txn: remove(sized("v1", "a", 7))},
		{name: "a change of a counted volume that is no growth", given: []model.Object{sized("v1", "a", 7), quota("a", "team=a", 5, 0)}, txn: put(t, sized("v1", "a", 7))},
		{name: "a limit below what is used", given: []model.Object{sized("v1", "a", 7)}, txn: put(t, quota("a", "team=a", 5, -1))},
		{
			name: "the limit of the same change counts", given: []model.Object{quota("a", "team=a", 99, -1), sized("v1", "a", 7)},
			txn:  put(t, quota("a", "", 8, -1), sized("v2", "b", 2)),
			want: over("2 GiB more asked, 1 GiB left (all volumes: limit 8 GiB, used 7 GiB)", 2*gib, gib),
		},
		{
			name: "a quota that goes in the same change counts no more", given: []model.Object{quota("a", "", 1, -1)},
			txn: state.Txn{Put: put(t, sized("v2", "b", 2)).Put, Delete: []model.Key{quota("a", "", 1, -1).Key()}},
		},
	}
	for i := range tests {
		tests[i].name = "quota: " + tests[i].name
		tests[i].given = append([]model.Object{two}, tests[i].given...)
		tests[i].is = model.ErrQuota
	}
	unfit := func(reason string, q *model.Quota) refusalCase {
		return refusalCase{
			name: "quota: " + reason, given: []model.Object{two}, txn: put(t, q), is: model.ErrInvalid,
			want: &model.Refusal{Constraint: "decode", Object: "quota/a", Reason: reason},
		}
	}
	minus := quota("a", "", 0, 5)
	*minus.Volumes = -5
	return append(tests,
		unfit("it limits nothing: want bytes, volumes or both", quota("a", "", 0, -1)),
		unfit("a limit of -5: want 0 or more", minus),
		unfit(`read selector "=": label key "": use letters, digits, '-', '_' and '.', at most 63, with a letter or digit at both ends`, quota("a", "=", 1, -1)),
		refusalCase{
			name: "quota: before the format that knows them", txn: put(t, quota("a", "", 1, 1)), is: model.ErrInvalid,
			want: &model.Refusal{Constraint: "decode", Object: "quota/a", Reason: "the state's format is 1, in which there are no quotas"},
		})
}

// TestQuotasAgreeWithCountingEverything changes volumes, their labels and quotas at random: what is accepted, and
// what the store says is used, is what counting all volumes gives.
func TestQuotasAgreeWithCountingEverything(t *testing.T) {
	reached := map[bool]int{}
	rapid.Check(t, func(rt *rapid.T) {
		l := newLog(t)
		l.must(put(t, &model.Cluster{Meta: named("cluster"), Format: 2}))
		now := world{}
		for range 25 {
			txn := drawQuotaTxn(rt)
			next := now.after(txn, l.index+1)
			refused := l.apply(txn)[0].Err() != nil
			if want := exceeded(now, next); refused != want {
				rt.Fatalf("refused: %v, counting says %v", refused, want)
			}
			if reached[refused]++; !refused {
				now = next
			}
			again := state.NewStore(state.Options{})
			var snapshot bytes.Buffer
			if _, err := l.store.View().WriteTo(&snapshot); err != nil {
				rt.Fatal(err)
			}
			if err := again.Restore(&snapshot); err != nil {
				rt.Fatal(err)
			}
			for k, o := range now {
				if q, ok := o.(*model.Quota); ok {
					want := now.usage(q)
					if got := [2]state.Usage{l.store.View().Usage(k.Name), again.View().Usage(k.Name)}; got != [2]state.Usage{want, want} {
						rt.Fatalf("quota %s: used %v, counting says %v", k.Name, got, want)
					}
				}
			}
		}
	})
	if reached[true] == 0 || reached[false] == 0 {
		t.Errorf("refused and accepted: %v: this test shows nothing", reached)
	}
}

func drawQuotaTxn(t *rapid.T) state.Txn {
	b := state.NewTxn("test", "random")
	seen, gone := map[model.Key]bool{}, []model.Key(nil)
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		var o model.Object = sized(fmt.Sprintf("v%d", rapid.IntRange(0, 4).Draw(t, "volume")),
			rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "team"), rapid.Int64Range(1, 9).Draw(t, "gibs"))
		if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			o = quota(fmt.Sprintf("q%d", rapid.IntRange(0, 2).Draw(t, "quota")), rapid.SampledFrom([]string{"", "team=a", "team", "team!=b"}).Draw(t, "labels"),
				rapid.Int64Range(1, 20).Draw(t, "limit"), rapid.Int64Range(-1, 4).Draw(t, "volumes"))
		}
		if rapid.IntRange(0, 3).Draw(t, "status") == 0 {
			o = resizing(fmt.Sprintf("v%d", rapid.IntRange(0, 4).Draw(t, "volume")), rapid.Int64Range(0, 12).Draw(t, "gibs"))
		}
		switch {
		case seen[o.Key()]:
		case rapid.IntRange(0, 4).Draw(t, "how") == 0:
			gone = append(gone, o.Key())
		default:
			b.PutAnyway(o)
		}
		seen[o.Key()] = true
	}
	txn, err := b.Txn()
	if err != nil {
		t.Fatal(err)
	}
	txn.Delete = gone
	return txn
}

func (w world) usage(q *model.Quota) (u state.Usage) {
	s, err := selector.Parse(q.Selector)
	if err != nil {
		panic(err)
	}
	for _, o := range w {
		if vol, ok := o.(*model.Volume); ok && s.Matches(vol.Labels) {
			size := vol.Size()
			if st, ok := w[model.Key{Kind: model.KindVolumeStatus, Name: vol.Name}].(*model.VolumeStatus); ok {
				size = max(size, st.Transitions[0].Devices[0].Size)
			}
			u.Bytes, u.Volumes = u.Bytes+size, u.Volumes+1
		}
	}
	return u
}

// exceeded says that a quota of next is exceeded by growth since now.
func exceeded(now, next world) bool {
	for _, o := range next {
		q, ok := o.(*model.Quota)
		if !ok {
			continue
		}
		was, is := now.usage(q), next.usage(q)
		if q.Bytes != nil && is.Bytes > *q.Bytes && is.Bytes > was.Bytes || q.Volumes != nil && is.Volumes > *q.Volumes && is.Volumes > was.Volumes {
			return true
		}
	}
	return false
}

func TestAViewKeepsWhatItSaidOfQuotas(t *testing.T) {
	l := newLog(t)
	l.must(put(t, &model.Cluster{Meta: named("cluster"), Format: 2}), put(t, quota("a", "team=a", 10, -1), sized("v1", "a", 7)))
	old := l.store.View()
	l.must(put(t, sized("v2", "a", 2)))
	got := []state.Usage{old.Usage("a"), l.store.View().Usage("a"), old.Usage("nobody")}
	if diff := cmp.Diff([]state.Usage{{Bytes: 7 * gib, Volumes: 1}, {Bytes: 9 * gib, Volumes: 2}, {}}, got); diff != "" {
		t.Error(diff)
	}
}
