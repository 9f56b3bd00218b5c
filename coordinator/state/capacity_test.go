package state_test

import (
	"testing"

	"rvol/coordinator/model"
)

func capacityCases(t *testing.T) []refusalCase {
	t.Helper()
	return []refusalCase{
		{
			name:  "capacity: growth past the limit",
			given: []model.Object{capacity(10), reservation("r1", 7)},
			txn:   put(t, reservation("r2", 4)),
			want: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: 4 * gib, Available: 3 * gib,
				Reason: "4 GiB asked, 3 GiB available of 10 GiB",
			},
			is: model.ErrNoSpace,
		},
		{
			name:  "capacity: exactly full is not past the limit",
			given: []model.Object{capacity(10), reservation("r1", 7)},
			txn:   put(t, reservation("r2", 3)),
		},
		{
			name:  "capacity: two that fit alone do not fit together",
			given: []model.Object{capacity(10)},
			txn:   put(t, reservation("r1", 6), reservation("r2", 6)),
			want: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: 12 * gib, Available: 10 * gib,
				Reason: "12 GiB asked, 10 GiB available of 10 GiB",
			},
			is: model.ErrNoSpace,
		},
		{
			name:  "capacity: growth in one place of what shrinks in another",
			given: []model.Object{capacity(10), reservation("r1", 9)},
			txn:   put(t, reservation("r1", 1), reservation("r2", 9)),
		},
		{
			name:  "capacity: a resize counts what is pending",
			given: []model.Object{capacity(10), reservation("r1", 7)},
			txn:   put(t, with(reservation("r1", 7), func(r *model.Reservation) { r.Pending = 11*gib + gib/2 })),
			want: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: 4*gib + gib/2, Available: 3 * gib,
				Reason: "4.50 GiB asked, 3 GiB available of 10 GiB",
			},
			is: model.ErrNoSpace,
		},
		{
			name:  "capacity: shrinking above a limit that fell",
			given: []model.Object{capacity(10), reservation("r1", 9), capacity(5)},
			txn:   put(t, reservation("r1", 8)),
		},
		{
			name:  "capacity: importing what already exists",
			given: []model.Object{capacity(10), reservation("r1", 9)},
			txn:   put(t, with(reservation("r2", 9), func(r *model.Reservation) { r.Imported = true })),
		},
		{
			name:  "capacity: what was imported does not grow freely",
			given: []model.Object{capacity(10), with(reservation("r2", 9), func(r *model.Reservation) { r.Imported = true })},
			txn:   put(t, with(reservation("r2", 11), func(r *model.Reservation) { r.Imported = true })),
			want: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: 2 * gib, Available: gib,
				Reason: "2 GiB asked, 1 GiB available of 10 GiB",
			},
			is: model.ErrNoSpace,
		},
		{
			name:  "capacity: what an LV is found to have is charged, whatever the limit",
			given: []model.Object{capacity(10), reservation("r1", 9)},
			txn:   put(t, with(reservation("r1", 9), func(r *model.Reservation) { r.Observed = 12 * gib })),
		},
		{
			name:  "capacity: what was found may be granted afterwards",
			given: []model.Object{capacity(10), with(reservation("r1", 9), func(r *model.Reservation) { r.Observed = 9 * gib }), capacity(5)},
			txn:   put(t, with(reservation("r1", 9), func(r *model.Reservation) { r.Observed, r.Granted = 9*gib, 9*gib })),
		},
		{
			name:  "capacity: finding one LV larger is no licence for another",
			given: []model.Object{capacity(10), reservation("r1", 9)},
			txn:   put(t, with(reservation("r1", 9), func(r *model.Reservation) { r.Observed = 12 * gib }), reservation("r2", 1)),
			want: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: gib,
				Reason: "1 GiB asked, 0 bytes available of 10 GiB",
			},
			is: model.ErrNoSpace,
		},
		{
			name: "capacity: a pool of unknown size",
			txn:  put(t, reservation("r1", 1)),
			want: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: gib,
				Reason: "1 GiB asked, but its size is not known: no report of it has been recorded",
			},
			is: model.ErrNoSpace,
		},
		{
			name: "capacity: a thin pool where growth was stopped",
			given: []model.Object{&model.Capacity{
				Meta: named("n1/uuid-1/tp-1"), Pool: model.PoolID{Node: "n1", VG: "uuid-1", ThinLV: "tp-1"},
				ExtentSize: 4 << 20, Extents: 2560, Percent: 200, GrowthStopped: "data 96 % full, stop at 95 %",
			}},
			txn: put(t, with(reservation("r1", 1), func(r *model.Reservation) { r.Pool.ThinLV, r.ThinPool = "tp-1", "tp0" })),
			want: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0/tp0", Asked: gib,
				Reason: "1 GiB asked, but nothing may grow there: data 96 % full, stop at 95 %",
			},
			is: model.ErrNoSpace,
		},
		{
			name:  "capacity: a pool that the node no longer reports",
			given: []model.Object{with(capacity(10), func(c *model.Capacity) { c.Missing = true })},
			txn:   put(t, reservation("r1", 1)),
			want: &model.Refusal{
				Constraint: "capacity", Object: "pool n1/vg0", Asked: gib, Reason: "1 GiB asked, but the node no longer reports it",
			},
			is: model.ErrNoSpace,
		},
		{
			name:  "capacity: the record and the reservation in one transaction",
			given: nil,
			txn:   put(t, reservation("r1", 10), capacity(10)),
		},
	}
}
