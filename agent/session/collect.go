package session

import (
	"context"
	"sync"
	"time"

	"rvol/agent/collect"
	agentv1 "rvol/proto/agent/v1"
)

// partSize is how much of a file goes into one message, in bytes: orders and questions do not wait behind more.
const partSize = 32 << 10

// collection is what is gathered for a coordinator while the conversation goes on.
type collection struct {
	parts      chan *agentv1.CollectedPart
	collectors sync.WaitGroup
	endLast    context.CancelFunc // nil: there was none
}

// collect begins to gather; what is there is sent part by part, between other messages.
func (c *conversation) collect(ctx context.Context, r *agentv1.CollectRequest) {
	if c.endLast != nil {
		c.endLast()
	}
	ctx, c.endLast = context.WithCancel(ctx)
	give := func(p *agentv1.CollectedPart) error {
		p.Number = r.GetNumber()
		select {
		case c.parts <- p:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.collectors.Go(func() {
		looking, done := context.WithTimeout(ctx, time.Duration(r.GetSeconds())*time.Second)
		defer done()
		err := c.Collect(looking, r.GetMaxBytes(), func(f collect.File) error { return inParts(f, give) })
		if err == nil {
			_ = give(&agentv1.CollectedPart{End: true}) // nobody waits for it when that fails
		}
	})
}

// inParts cuts a file.
func inParts(f collect.File, give func(*agentv1.CollectedPart) error) error {
	data := f.Data
	for len(data) > partSize {
		if err := give(&agentv1.CollectedPart{File: f.Name, Data: data[:partSize]}); err != nil {
			return err
		}
		data = data[partSize:]
	}
	return give(&agentv1.CollectedPart{File: f.Name, Data: data, FileEnd: true, Missing: f.Missing})
}
