package drbd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventKind says what happened to an object.
type EventKind string

// The kinds of events. Exists comes in the dump at the start only.
const (
	Exists   EventKind = "exists"
	Create   EventKind = "create"
	Change   EventKind = "change"
	Rename   EventKind = "rename"
	Destroy  EventKind = "destroy"
	Call     EventKind = "call"     // the kernel calls its helper
	Response EventKind = "response" // the helper answered
)

// EventObject says what an event is about.
type EventObject string

// The objects of events.
const (
	ResourceEvent   EventObject = "resource"
	ConnectionEvent EventObject = "connection"
	DeviceEvent     EventObject = "device"
	PeerDeviceEvent EventObject = "peer-device"
	PathEvent       EventObject = "path"
	HelperEvent     EventObject = "helper"
	EndOfDump       EventObject = "-" // "exists -": all that exists has been told
)

// An Event is one line of events2.
type Event struct {
	Time   time.Time // zero without --timestamps
	Kind   EventKind
	Object EventObject
	Fields map[string]string // name, volume, disk ... as printed
}

// Name gives the resource.
func (e Event) Name() string { return e.Fields["name"] }

// ParseEvent reads one line of events2, with or without a timestamp:
//
//	[TIME] KIND OBJECT [KEY:VALUE ...]
func ParseEvent(line []byte) (Event, error) {
	words := strings.Fields(string(line))
	var e Event
	if len(words) > 0 {
		if at, err := time.Parse(time.RFC3339Nano, words[0]); err == nil {
			e.Time, words = at, words[1:]
		}
	}
	if len(words) < 2 {
		return Event{}, garbage("parse event", line)
	}
	e.Kind, e.Object = EventKind(words[0]), EventObject(words[1])
	if !known(e) {
		return Event{}, garbage("parse event", line)
	}
	e.Fields = make(map[string]string, len(words)-2)
	for _, word := range words[2:] {
		key, value, ok := strings.Cut(word, ":")
		if !ok || key == "" {
			return Event{}, garbage("parse event", line)
		}
		e.Fields[key] = value
	}
	if e.Object != EndOfDump && e.Name() == "" {
		return Event{}, garbage("parse event", line)
	}
	return e, nil
}

func known(e Event) bool {
	switch e.Object {
	case EndOfDump:
		return e.Kind == Exists
	case ResourceEvent, ConnectionEvent, DeviceEvent, PeerDeviceEvent, PathEvent:
		return slices.Contains([]EventKind{Exists, Create, Change, Rename, Destroy}, e.Kind)
	case HelperEvent:
		return e.Kind == Call || e.Kind == Response
	}
	return false
}

// Follow hands over all events, beginning with a dump of what exists, until
// ctx ends or the stream breaks. Give each to a new Table.
//
//	drbdsetup events2 --timestamps --statistics
func Follow(ctx context.Context, follow Follower, event func(Event) error) error {
	argv := []string{"drbdsetup", "events2", "--timestamps", "--statistics"}
	err := follow(ctx, argv, func(line []byte) error {
		e, err := ParseEvent(line)
		if err != nil {
			return err
		}
		return event(e)
	})
	if err != nil {
		return failure(argv, err)
	}
	return nil
}

// number reads an integer field; absent is ok with def.
func (e Event) number(key string, def int64) (int64, error) {
	s, ok := e.Fields[key]
	if !ok {
		return def, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("event %s %s: %s:%.40s: %w", e.Kind, e.Object, key, s, ErrGarbage)
	}
	return n, nil
}
