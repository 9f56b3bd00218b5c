package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"rvol/coordinator/model"
	"rvol/coordinator/model/selector"
)

// Usage is what the volumes that a quota counts take up, those being deleted included.
type Usage struct {
	Bytes   int64 // usable, copies not counted
	Volumes int64
}

// quota is one of them with what it counts.
type quota struct {
	*model.Quota

	selects selector.Selector
	used    Usage
}

// Usage is what the volumes take up that the quota of this name counts.
func (v View) Usage(name string) Usage {
	for _, q := range v.t.quotas {
		if q.Name == name {
			return q.used
		}
	}
	return Usage{}
}

// lookup finds an object by its key in some state.
type lookup func(key string) (model.Object, bool)

// counts is what a quota counts of a volume in some state. One that is being resized has
// its new size already: what was granted is not refused at the end.
func (q *quota) counts(find lookup, volume string) Usage {
	o, _ := find(model.Key{Kind: model.KindVolume, Name: volume}.String())
	vol, ok := o.(*model.Volume)
	if !ok || !q.selects.Matches(vol.Labels) {
		return Usage{}
	}
	size := vol.Size()
	o, _ = find(model.Key{Kind: model.KindVolumeStatus, Name: volume}.String())
	if st, ok := o.(*model.VolumeStatus); ok {
		for _, t := range st.Transitions {
			size = max(size, (&model.Volume{Devices: t.Devices}).Size())
		}
	}
	return Usage{Bytes: size, Volumes: 1}
}

func (u *Usage) add(o Usage, sign int64) {
	u.Bytes, u.Volumes = u.Bytes+sign*o.Bytes, u.Volumes+sign*o.Volumes
}

// newQuota counts all volumes for q.
func (t *tables) newQuota(q *model.Quota) quota {
	s, _ := selector.Parse(q.Selector) // checkQuota saw to it
	out := quota{Quota: q, selects: s}
	for vol := range scan[*model.Volume](t.objects, string(model.KindVolume)+"/") {
		out.used.add(out.counts(t.objects.Get, vol.Name), 1)
	}
	return out
}

// countQuotas counts all volumes for all quotas.
func (t *tables) countQuotas() (all []quota) {
	for q := range scan[*model.Quota](t.objects, string(model.KindQuota)+"/") {
		all = append(all, t.newQuota(q))
	}
	return all
}

// grows is by how much the transaction changes what a quota counts.
func (d *draft) grows(q *quota) (u Usage) {
	for _, c := range d.changes {
		if c.object.Kind != model.KindVolume && c.object.Kind != model.KindVolumeStatus {
			continue
		}
		_, both := d.byKey[model.Key{Kind: model.KindVolume, Name: c.object.Name}.String()]
		if both && c.object.Kind == model.KindVolumeStatus {
			continue // counted with its volume
		}
		u.add(q.counts(d.after, c.object.Name), 1)
		u.add(q.counts(d.objects.Get, c.object.Name), -1)
	}
	return u
}

// judged are the quotas that the transaction would leave, sorted by name, with what they
// count before it.
func (d *draft) judged() (all []quota) {
	for _, q := range d.quotas {
		if _, changed := d.byKey[q.Key().String()]; !changed {
			all = append(all, q)
		}
	}
	for _, c := range d.changes {
		if q, ok := c.after.(*model.Quota); ok {
			all = append(all, d.newQuota(q))
		}
	}
	slices.SortFunc(all, func(a, b quota) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// counted are the same, with what they count after it. What is counted is not part of the
// hash: quotas and volumes are.
func (d *draft) counted() []quota {
	all := d.judged()
	for i := range all {
		all[i].used.add(d.grows(&all[i]), 1)
	}
	return all
}

// checkQuota refuses a quota by which nothing could be judged.
func checkQuota(q *model.Quota) error {
	if _, err := selector.Parse(q.Selector); err != nil {
		return err
	}
	if q.Bytes == nil && q.Volumes == nil {
		return errors.New("it limits nothing: want bytes, volumes or both")
	}
	for _, limit := range []*int64{q.Bytes, q.Volumes} {
		if limit != nil && *limit < 0 {
			return fmt.Errorf("a limit of %d: want 0 or more", *limit)
		}
	}
	return nil
}

// checkQuotas refuses growth past a quota, counted over the whole transaction. Shrinking,
// and a limit that fell below what is used, are always accepted.
func checkQuotas(d *draft) *model.Refusal {
	for _, q := range d.judged() {
		if r := q.refuses(d.grows(&q)); r != nil {
			return r
		}
	}
	return nil
}

// refuses says why the volumes of a quota may not grow by so much; nil: they may.
func (q *quota) refuses(grows Usage) *model.Refusal {
	if r := q.exceeds(q.Bytes, q.used.Bytes, grows.Bytes, model.HumanSize); r != nil {
		return r
	}
	return q.exceeds(q.Volumes, q.used.Volumes, grows.Volumes, func(n int64) string {
		if n == 1 {
			return "1 volume"
		}
		return strconv.FormatInt(n, 10) + " volumes"
	})
}

// exceeds judges one limit; text renders an amount.
func (q *quota) exceeds(limit *int64, used, grows int64, text func(int64) string) *model.Refusal {
	if limit == nil || grows <= 0 || grows <= *limit-used {
		return nil
	}
	left := max(0, *limit-used)
	whom := "volumes with " + q.Selector
	if q.Selector == "" {
		whom = "all volumes"
	}
	r := refuse(model.ConstraintQuota, q.Key(), "%s more asked, %s left (%s: limit %s, used %s)",
		text(grows), text(left), whom, text(*limit), text(used))
	r.Asked, r.Available = grows, left
	return r
}
