package control

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

// Images of three copies and volumes race for the same pools: each is whole or not there
// at all, and no pool ever holds more than it can.
func TestFiftyImagesRaceFiveHundredReplicasOnSixPools(t *testing.T) {
	t.Parallel()
	const images, volumes = 50, 250 // of two replicas
	inBubble(t, pools(4000, 4000, 4000, 3000, 3000, 3000), func(l *ledgerWorld) {
		l.applied = func(v state.View, _ state.Txn, _ bool) {
			for c := range state.All[*model.Capacity](v) {
				if v.Charged(c.Pool) > c.Limit() {
					t.Errorf("I1: entry %d: pool %s holds %d of %d bytes", v.Index(), c.Name, v.Charged(c.Pool), c.Limit())
				}
			}
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		granted, refused := 0, 0
		for i := range images {
			all.Go(func() {
				var claims []Claim
				for n := range 3 {
					c := claim(fmt.Sprintf("n%d", (i+n)%6), 60)
					c.Copy = n
					claims = append(claims, c)
				}
				err := l.reserve(model.OwnerImage, fmt.Sprintf("img-%d", i), claims...)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					granted++
				case errors.Is(err, model.ErrNoSpace):
					refused++
				default:
					t.Errorf("image %d: %v", i, err)
				}
			})
		}
		for i := range volumes {
			all.Go(func() { l.volume(fmt.Sprintf("v%d", i), 150*mib, 2) })
		}
		all.Wait()
		settle(10 * time.Minute)
		v := l.store.View()
		checkLedger(t, v)
		for i := range images {
			n := 0
			for range v.ReservationsOf(model.OwnerImage, fmt.Sprintf("img-%d", i)) {
				n++
			}
			if n != 0 && n != 3 {
				t.Errorf("image %d has %d copies of 3", i, n)
			}
		}
		placed := len(l.placed()) // fails for a volume that is half placed
		if placed == 0 || placed == volumes {
			t.Errorf("%d of %d volumes are placed: this test shows nothing", placed, volumes)
		}
		free := 0
		for p := range 6 {
			c, _ := state.Get[*model.Capacity](v, poolID(p).String())
			if c.Limit()-v.Charged(c.Pool) >= BackingBytes(150*mib, "9", extent) {
				free++
			}
		}
		if free >= 2 {
			t.Errorf("%d pools have room for another replica, and %d volumes wait", free, volumes-placed)
		}
		t.Logf("%d images granted, %d refused; %d volumes placed", granted, refused, placed)
	})
}
