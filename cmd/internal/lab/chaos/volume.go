package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"rvol/drbd/drbdtest"
	adminv1 "rvol/proto/admin/v1"
)

// volume is what the outside knows of one: what was asked for and acknowledged.
type volume struct {
	r    *run
	name string

	// Guarded by run.mu.
	acked     bool            // that it was made
	leaving   bool            // its deletion was asked for
	gone      bool            // it was deleted, and is
	formed    bool            // it was seen so
	wasFormed bool            // at the step before
	asked     int             // requests about it that have no answer yet
	uses      string          // node that it is to be attached on
	goal      *goal           // what is waited for; nil: nothing
	seen      *adminv1.Volume // as the leader last told it
	writers   map[string]bool // by node
	life      context.Context // of its writers
	stop      context.CancelFunc
	finished  sync.WaitGroup

	io sync.Mutex // guards what follows
	// What was acknowledged: the number in each block.
	blocks   map[int64]acked
	doubtful map[int64]bool // written without an answer: never written again
	next     int64
	number   uint64
	user     string          // who acknowledged last
	may      map[string]bool // who may from now on, because it was asked for
}

// acked is a write that was acknowledged.
type acked struct {
	number uint64
	by     string
	at     time.Time
}

// goal is the end of an operation that takes a while.
type goal struct {
	op   string
	done func(v *adminv1.Volume) bool // v is nil when it is gone
	till time.Time                    // nobody waits any longer
}

// The device is written in blocks, each with its number all over it.
const (
	blockSize = 4096
	blocks    = 512 // of the beginning of a device
)

func content(volume string, block int64, number uint64) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%-32s", fmt.Sprintf("%s %d %d", volume, block, number)), blockSize/32)
}

func (v *volume) String() string { return v.name }

// watch writes on a node for as long as the volume is there, whoever has it: only where it
// is Primary may that succeed.
func (v *volume) watch(ctx context.Context, node string) {
	v.finished.Go(func() {
		for ctx.Err() == nil {
			pause(ctx, v.write(ctx, node))
		}
	})
}

// write writes one block, and says how long to wait for the next.
func (v *volume) write(ctx context.Context, node string) time.Duration {
	v.io.Lock()
	block, number := v.next, v.number+1
	for v.doubtful[block] && len(v.doubtful) < blocks {
		block = (block + 1) % blocks
	}
	if v.doubtful[block] {
		v.io.Unlock()
		return time.Minute
	}
	v.next, v.number = (block+1)%blocks, number
	before, had := v.blocks[block]
	delete(v.blocks, block) // may be one or the other now
	v.doubtful[block] = true
	v.io.Unlock()

	once, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err := v.r.s.Write(once, node, v.name, block*blockSize, content(v.name, block, number))
	v.io.Lock()
	defer v.io.Unlock()
	switch {
	case err == nil:
		delete(v.doubtful, block)
		v.blocks[block] = acked{number, node, time.Now()}
		v.acknowledged(node)
		v.r.counts.add(doneGroup, opWrite, 1)
		return time.Second
	case errors.Is(err, drbdtest.ErrReadOnly), errors.Is(err, drbdtest.ErrNoDevice), errors.Is(err, fs.ErrNotExist): // nothing was written
		delete(v.doubtful, block)
		if had {
			v.blocks[block] = before
		}
	}
	return 3 * time.Second
}

// acknowledged demands that the user changes only when somebody asked for that.
func (v *volume) acknowledged(node string) {
	if v.user == node {
		return
	}
	if !v.may[node] {
		v.r.wrongf("I4: %s acknowledged a write to %s, which %s uses", node, v.name, v.user)
	}
	v.user = node
	clear(v.may)
}

// permit lets a node acknowledge from now on.
func (v *volume) permit(node string) {
	v.io.Lock()
	defer v.io.Unlock()
	v.may[node] = true
}

// verify reads on a node all that was acknowledged.
func (v *volume) verify(ctx context.Context, node string) error {
	v.io.Lock()
	defer v.io.Unlock()
	for block, a := range v.blocks {
		got, err := v.r.s.Read(ctx, node, v.name, block*blockSize, blockSize)
		if err != nil {
			return fmt.Errorf("read block %d of %s on %s: %w", block, v.name, node, err)
		}
		if !bytes.Equal(got, content(v.name, block, a.number)) {
			return fmt.Errorf("block %d of %s reads %.32q on %s; %s acknowledged number %d after %s", block, v.name, got, node,
				a.by, a.number, a.at.Sub(v.r.begun).Round(time.Millisecond))
		}
	}
	return nil
}

// acked is how many blocks were acknowledged.
func (v *volume) count() int {
	v.io.Lock()
	defer v.io.Unlock()
	return len(v.blocks)
}

// end stops the writers.
func (v *volume) end() {
	v.stop()
	v.finished.Wait()
}
