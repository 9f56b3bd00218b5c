package cli

import (
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// progress shows how far something has come: in one line that moves on a terminal, in lines when the text changes elsewhere.
// Progress that cannot be shown is nobody's loss: errors of writing it are not looked at.
type progress struct {
	w      io.Writer
	live   bool
	width  int
	began  time.Time
	phase  time.Time // when the phase began
	passed map[string]bool
	last   string
	drawn  bool
	sync   []sample // the newest of the copying under way
}

// sample is how much was copied when.
type sample struct {
	at      time.Time
	percent float64
}

// window is how much of the past tells how fast the copying goes.
const window = time.Minute

const (
	clearLine  = "\r\x1b[K"
	clearPage  = "\x1b[H\x1b[2J"
	usualWidth = 80
)

func (a *app) newProgress() *progress {
	now := time.Now()
	p := &progress{w: a.env.Stderr, live: a.live(a.env.Stderr), width: usualWidth, began: now}
	p.phase, p.passed = now, map[string]bool{}
	if a.flags.quiet {
		p.w, p.live = io.Discard, false
	}
	if f, ok := a.env.Stderr.(*os.File); ok && p.live {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			p.width = w
		}
	}
	return p
}

// show tells how far it is now.
func (p *progress) show(s stage) {
	now := time.Now()
	for _, phase := range s.passed {
		if p.passed[phase.name] {
			continue
		}
		took := phase.took
		if took == 0 {
			took = now.Sub(p.phase)
		}
		p.line(fmt.Sprintf("%s: done after %s", phase.name, short(took)))
		p.passed[phase.name], p.phase = true, now
	}
	text := s.String()
	if s.sync == nil {
		p.sync = nil
	}
	switch {
	case s.done || text == "":
	case p.live:
		if s.sync != nil {
			text += fmt.Sprintf(" [%s%s]", percent(*s.sync), p.left(now, *s.sync))
		}
		p.draw(fmt.Sprintf("%4s %s", p.elapsed(), text))
	default:
		if s.sync != nil { // a line for every tenth is enough
			text += fmt.Sprintf(" [%d %%]", int(*s.sync)/10*10)
		}
		if text != p.last {
			p.line(text)
			p.last = text
		}
	}
}

// left is how long the rest of a copying will take, if that can be told.
func (p *progress) left(now time.Time, done float64) string {
	if n := len(p.sync); n > 0 && done < p.sync[n-1].percent {
		p.sync = nil // another copy is the last one now
	}
	p.sync = append(p.sync, sample{now, done})
	for len(p.sync) > 2 && now.Sub(p.sync[1].at) >= window {
		p.sync = p.sync[1:]
	}
	took, copied := now.Sub(p.sync[0].at), done-p.sync[0].percent
	if took < 2*time.Second || copied <= 0 || done >= 100 {
		return ""
	}
	return ", about " + short(time.Duration(float64(took)*(100-done)/copied)) + " left"
}

// end leaves a clean line behind.
func (p *progress) end() {
	if p.drawn {
		_, _ = io.WriteString(p.w, clearLine)
	}
}

func (p *progress) elapsed() string { return short(time.Since(p.began)) }

// line prints a line that stays.
func (p *progress) line(text string) {
	p.end()
	p.drawn = false
	_, _ = fmt.Fprintf(p.w, "%s %s\n", p.elapsed(), text)
}

// draw replaces the line that moves.
func (p *progress) draw(text string) {
	if n := utf8.RuneCountInString(text); n > p.width-1 {
		text = string([]rune(text)[:p.width-2]) + "…"
	}
	_, _ = fmt.Fprint(p.w, clearLine, text)
	p.drawn = true
}
