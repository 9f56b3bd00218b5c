package cli

import (
	"context"
	"sync"
	"time"

	adminv1 "rvol/proto/admin/v1"
)

// interval is how often something followed is read again when nobody tells of changes.
const interval = time.Second

// follow calls look now, whenever an object of those kinds changed, and every second, until look is done or fails.
func (a *app) follow(ctx context.Context, kinds []string, look func(context.Context) (done bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1) // one is enough: it means "since you last looked"
	var listener sync.WaitGroup
	defer listener.Wait()
	defer cancel()
	listener.Go(func() { a.listen(ctx, kinds, changed) })

	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if done, err := look(ctx); done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listen passes on that something changed, over as many streams as it takes.
func (a *app) listen(ctx context.Context, kinds []string, changed chan<- struct{}) {
	for ctx.Err() == nil {
		stream, err := adminv1.NewEventsClient(a.client).Changes(ctx, &adminv1.ChangesRequest{Kinds: kinds})
		for err == nil {
			if _, err = stream.Recv(); err != nil {
				break // the caller looks every second anyway
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		sleep(ctx, interval)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
