package drbdtest_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// TestAcknowledgedWritesSurvive drives a pair through random losses of power
// and of the link. A node is promoted only while the other is connected to
// it, or has no power and was UpToDate with it at the time: what was
// acknowledged must then be read for ever.
func TestAcknowledgedWritesSurvive(t *testing.T) {
	for _, v := range []drbd.Version{drbdtest.V84, drbdtest.V9} {
		t.Run(v.Kernel.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				steps := rapid.SliceOfN(rapid.SampledFrom([]string{"write", "write", "write", "fail over", "crash", "cut", "heal", "peer off", "peer on", "wait"}), 1, 40).Draw(rt, "steps")
				synctest.Test(t, func(t *testing.T) {
					h := &history{two: formed(t, v), acked: map[int64]byte{}, maybe: map[int64][]byte{}}
					for i, step := range steps {
						h.step(step, byte(i+1))
					}
					h.end(steps)
				})
			})
		})
	}
}

type history struct {
	*two
	primary int
	acked   map[int64]byte   // what must be read
	maybe   map[int64][]byte // what may be read instead: never acknowledged
}

const blockCount = 5

func (h *history) step(what string, mark byte) {
	h.Helper()
	peer := 1 - h.primary
	switch what {
	case "write":
		h.write(int64(mark)%blockCount*4096, mark)
	case "cut":
		h.fabric.Cut("a", "b")
	case "heal":
		h.fabric.Heal()
	case "wait":
		time.Sleep(time.Minute)
	case "peer off":
		h.nodes[peer].PowerOff()
	case "peer on":
		h.nodes[peer].PowerOn()
		_ = h.tools[peer].Adjust(h.Context(), h.refs[peer])
	case "fail over":
		h.failOver()
	case "crash":
		h.crash(mark)
	}
}

// crash takes the Primary's power while a write is under way that reached no
// peer, and goes on on the same node.
func (h *history) crash(mark byte) {
	h.Helper()
	n, off := h.nodes[h.primary], int64(mark)%blockCount*4096
	h.fabric.Cut("a", "b")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.write(off, mark)
	}()
	synctest.Wait()
	n.PowerOff()
	<-ended
	h.fabric.Heal()
	n.PowerOn()
	h.ok(h.tools[h.primary].Adjust(h.Context(), h.refs[h.primary]))
	time.Sleep(time.Minute)
	h.ok(h.tools[h.primary].Primary(h.Context(), h.refs[h.primary]))
}

// write gives up after a while, as a program does; then it may or may not be
// there.
func (h *history) write(off int64, mark byte) {
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	err := h.nodes[h.primary].Write(ctx, minor, off, bytes.Repeat([]byte{mark}, 4096))
	if err != nil {
		h.maybe[off] = append(h.maybe[off], mark)
		return
	}
	h.acked[off] = mark
	delete(h.maybe, off)
}

// failOver takes the Primary's power while its peer is connected and
// UpToDate, and goes on there.
func (h *history) failOver() {
	h.Helper()
	r := h.status(h.primary)
	if len(r.Peers) == 0 || r.Peers[0].Conn != drbd.Connected || r.Peers[0].Devices[0].Disk != drbd.UpToDate {
		return
	}
	old := h.primary
	if !h.reachable() {
		return // cut off and not known yet: the peer may miss a write under way
	}
	h.nodes[old].PowerOff()
	time.Sleep(time.Minute)
	h.primary = 1 - old
	h.ok(h.tools[h.primary].Primary(h.Context(), h.refs[h.primary]))
	h.nodes[old].PowerOn()
	h.ok(h.tools[old].Adjust(h.Context(), h.refs[old]))
}

// reachable finds out whether the link works, by a write.
func (h *history) reachable() bool {
	start := time.Now()
	h.write(0, 255)
	return time.Since(start) == 0 && len(h.status(h.primary).Peers) > 0 && h.status(h.primary).Peers[0].Conn == drbd.Connected
}

// end brings everything together: both UpToDate, equal, and right.
func (h *history) end(steps []string) {
	h.Helper()
	h.fabric.Heal()
	h.nodes[1-h.primary].PowerOn()
	h.ok(h.tools[1-h.primary].Adjust(h.Context(), h.refs[1-h.primary]))
	time.Sleep(10 * time.Minute)
	for i := range h.nodes {
		r := h.status(i)
		if len(r.Peers) == 0 || r.Devices[0].Disk != drbd.UpToDate || r.Peers[0].Devices[0].Disk != drbd.UpToDate {
			h.Fatalf("%v: at the end %+v", steps, r)
		}
	}
	h.sameContents()
	for off, want := range h.acked {
		got, err := h.nodes[h.primary].Read(h.Context(), minor, off, 4096)
		h.ok(err)
		if got[0] != want && !bytes.Contains(h.maybe[off], got[:1]) {
			h.Fatalf("%v: at %d: got %d, want %d", steps, off, got[0], want)
		}
	}
}
