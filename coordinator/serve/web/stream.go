package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	pulse        = 15 * time.Second // of a stream that has nothing to tell
	writeTimeout = 10 * time.Second // of a browser that does not read
	portion      = 250              // rows of one message: the first are drawn while the others come
)

// cursor is how far a window was told. It travels as the id of a server-sent event, which browsers give back when they
// come again.
type cursor struct {
	epoch string
	seq   uint64
}

func (c cursor) String() string { return c.epoch + "." + strconv.FormatUint(c.seq, 10) }

// parseCursor reads what String wrote; what is something else is nowhere.
func parseCursor(text string) cursor {
	epoch, number, _ := strings.Cut(text, ".")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return cursor{}
	}
	return cursor{epoch, seq}
}

// stream tells a window what there is, and then what changes, until the session ends.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, o *session) {
	leave, err := o.feed.watch()
	if err != nil {
		refuse(w, http.StatusTooManyRequests, err.Error())
		return
	}
	defer leave()
	ctx, cancel := context.WithDeadline(r.Context(), o.ends)
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	out := &window{w: w, control: http.NewResponseController(w), at: parseCursor(r.Header.Get("Last-Event-ID"))}
	if err := out.control.SetReadDeadline(time.Time{}); err != nil { // there is nothing more to read
		return
	}
	if err := out.send(": rvol\n\n"); err != nil || !out.follow(ctx, o.feed) {
		return
	}
	if r.Context().Err() == nil {
		_ = out.send("event: over\ndata: {}\n\n") // the browser may have gone
	}
}

// window is one stream to a browser.
type window struct {
	w       http.ResponseWriter
	control *http.ResponseController
	at      cursor
}

// follow tells what changes until the session is over, or ctx; it returns false when the browser has gone.
func (o *window) follow(ctx context.Context, f *feed) bool {
	beat := time.NewTicker(pulse)
	defer beat.Stop()
	for {
		changed, err := o.tell(f)
		if err != nil {
			return false
		}
		if f.over() != nil {
			return true
		}
		select {
		case <-changed:
		case <-beat.C:
			if o.send(": still here\n\n") != nil {
				return false
			}
		case <-ctx.Done():
			return true
		}
	}
}

func (o *window) send(text string) error {
	if err := o.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := o.w.Write([]byte(text)); err != nil {
		return err
	}
	if err := o.control.Flush(); err != nil {
		return err
	}
	return o.control.SetWriteDeadline(time.Time{}) // HTTP/2 ends a stream at its deadline, whether anybody writes or not
}

// message is what one event carries.
type message struct {
	Whole bool                       `json:"whole,omitempty"` // forget what you knew
	More  bool                       `json:"more,omitempty"`  // the rest is under way
	Rows  map[string]json.RawMessage `json:"rows"`            // null: it is gone
}

// tell sends what the window does not know yet.
func (o *window) tell(f *feed) (changed <-chan struct{}, err error) {
	rows, next, whole, changed := f.since(o.at)
	for first := true; first && whole || len(rows) > 0; first = false {
		n := min(portion, len(rows))
		m := message{Whole: first && whole, More: n < len(rows), Rows: map[string]json.RawMessage{}}
		for _, r := range rows[:n] {
			m.Rows[r.key] = r.text
		}
		rows = rows[n:]
		text, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("write a message: %w", err)
		}
		var b bytes.Buffer
		if !m.More {
			fmt.Fprintf(&b, "id: %s\n", next)
		}
		fmt.Fprintf(&b, "data: %s\n\n", text)
		if err := o.send(b.String()); err != nil {
			return nil, err
		}
	}
	o.at = next
	return changed, nil
}
