package lab

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress tells people what is being done and how long it has taken so far.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
}

// NewProgress tells on w; its time starts now.
func NewProgress(w io.Writer) *Progress { return &Progress{w: w, start: time.Now()} }

// Say writes one line.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "[%6.1fs] %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...)) // nobody to tell
}
