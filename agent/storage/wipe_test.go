package storage_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"rvol/agent/storage"
)

func TestWiping(t *testing.T) {
	tests := []struct {
		name    string
		wipe    storage.Wipe
		rotates bool // the disk cannot discard
		old     bool // blocks of the last owner can be read
		want    []string
	}{
		{"by default old blocks stay", "", false, true, nil},
		{"none leaves old blocks", storage.WipeNone, false, true, nil},
		{"discard", storage.WipeDiscard, false, false, []string{"blkdiscard /dev/vg0/rvol-db.0.1"}},
		{
			"discard zeroes where the disk cannot discard", storage.WipeDiscard, true, false,
			[]string{"blkdiscard /dev/vg0/rvol-db.0.1", "blkdiscard --zeroout /dev/vg0/rvol-db.0.1"},
		},
		{"zero", storage.WipeZero, true, false, []string{"blkdiscard --zeroout /dev/vg0/rvol-db.0.1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, c := machine(t, "")
			prepare(t, m)
			if tt.rotates {
				m.Rotate("/dev/sdb")
			}
			d, err := storage.NewThick(c).Create(t.Context(), storage.Spec{Name: db, Size: 10 << 20, Tags: tags, Wipe: tt.wipe})
			if err != nil {
				t.Fatal(err)
			}
			if !d.JustCreated || !slices.Equal(d.Tags, tags) {
				t.Errorf("got %+v", d)
			}
			if got := bytes.Contains(readAll(t, m, d.Path), []byte("secret!")); got != tt.old {
				t.Errorf("old blocks can be read: %v, want %v", got, tt.old)
			}
			if got := commands(m, "blkdiscard"); !slices.Equal(got, tt.want) {
				t.Errorf("ran %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWipedDeviceIsNotWipedAgain(t *testing.T) {
	m, c := machine(t, "")
	b := storage.NewThick(c)
	s := storage.Spec{Name: db, Size: 10 << 20, Tags: tags, Wipe: storage.WipeZero}
	for range 2 {
		if _, err := b.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if got := commands(m, "blkdiscard"); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
}

func TestDeviceInUseIsNotWiped(t *testing.T) {
	m, c := machine(t, "")
	b := storage.NewThick(c)
	m.Fail("blkdiscard", 1, 1, "blkdiscard: /dev/vg0/rvol-db.0.1: BLKZEROOUT ioctl failed: Input/output error\n")
	s := storage.Spec{Name: db, Size: 10 << 20, Tags: tags, Wipe: storage.WipeZero}
	if _, err := b.Create(t.Context(), s); err == nil {
		t.Fatal("a wipe that failed is called success")
	}
	dev, err := m.OpenExclusive("/dev/vg0/rvol-db.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(t.Context(), s); !errors.Is(err, storage.ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	_ = dev.Close()
	if d, err := b.Create(t.Context(), s); err != nil || !d.JustCreated {
		t.Errorf("got %+v, %v", d, err)
	}
}
