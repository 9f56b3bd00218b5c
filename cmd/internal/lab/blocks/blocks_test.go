package blocks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// disk is a device in memory. After so many writes it fails, and loses that one; 0: never.
type disk struct {
	data   []byte
	writes int
	fails  int
}

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	if d.writes++; d.writes == d.fails {
		return 0, io.ErrClosedPipe
	}
	return copy(d.data[off:], p), nil
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) { return copy(p, d.data[off:]), nil }

// written is a disk on which the blocks 0 to last were written and told.
func written(t *testing.T, last int) *disk {
	t.Helper()
	d := &disk{data: make([]byte, Slots*Size), fails: last + 2}
	var told bytes.Buffer
	if err := Write(t.Context(), d, 0, &told); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("got %v, want the device's failure", err)
	}
	if want := fmt.Sprintf("\n%d\n", last); !strings.HasSuffix("\n"+told.String(), want) {
		t.Fatalf("told up to %q, want %d", told.String()[max(0, told.Len()-20):], last)
	}
	return d
}

func TestCheckFindsWhatIsLost(t *testing.T) {
	t.Parallel()
	block := make([]byte, Size)
	put := func(place, n int64) func(*disk) {
		return func(d *disk) {
			fill(block, n)
			copy(d.data[place%Slots*Size:], block)
		}
	}
	for _, c := range []struct {
		says   string
		last   int
		change func(*disk)
		want   string // part of the error; "": none
	}{
		{"all is there", 2000, func(*disk) {}, ""},
		{"few were written", 5, func(*disk) {}, ""},
		{"a newer one was written that nobody heard of", 2000, put(2001, 2001), ""},
		{"the last one is missing", 2000, put(2000, 2000-Slots), "block 2000 is lost"},
		{"one in the middle is missing", 2000, put(1500, 1500-Slots), "block 1500 is lost"},
		{"one bit is wrong", 2000, func(d *disk) { d.data[1500%Slots*Size+900] ^= 1 }, "block 1500 is damaged"},
		{"one is in the wrong place", 2000, put(1500, 1501), "belongs elsewhere"},
		{"one was never written", 5, func(d *disk) { clear(d.data[3*Size : 4*Size]) }, "in the place of block 3: no block was ever written"},
	} {
		d := written(t, c.last)
		c.change(d)
		err := Check(d, int64(c.last))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.says, err, c.want)
		}
	}
}

func TestWriteEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := &disk{data: make([]byte, Slots*Size)}
	if err := Write(ctx, d, 0, io.Discard); err != nil || d.writes > 0 {
		t.Errorf("%d writes, %v", d.writes, err)
	}
}
