package drbd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Status asks for one resource; ErrUnknownResource: it is not up.
//
//	drbdsetup status RESOURCE --json --verbose --statistics
//
// DRBD 8.4 has no JSON; its lines for people are folded at 80 columns, so
// that its events are asked for instead:
//
//	drbdsetup events2 RESOURCE --now --statistics
func (t *Tool) Status(ctx context.Context, resource string) (Resource, error) {
	if err := checkName(resource); err != nil {
		return Resource{}, err
	}
	all, err := t.status(ctx, resource)
	if err != nil {
		return Resource{}, err
	}
	for _, r := range all {
		if r.Name == resource {
			return r, nil
		}
	}
	return Resource{}, fmt.Errorf("status of %s: %w", resource, ErrUnknownResource)
}

// StatusAll asks for all resources that are up, as Status does for one.
//
//	drbdsetup status --json --verbose --statistics
//	drbdsetup events2 --now --statistics
func (t *Tool) StatusAll(ctx context.Context) ([]Resource, error) { return t.status(ctx) }

func (t *Tool) status(ctx context.Context, resource ...string) ([]Resource, error) {
	if t.ver.Is84() {
		argv := append([]string{"drbdsetup", "events2"}, resource...)
		out, err := t.out(ctx, append(argv, "--now", "--statistics")...)
		if err != nil {
			return nil, err
		}
		return ParseDump(out)
	}
	argv := append([]string{"drbdsetup", "status"}, resource...)
	out, err := t.out(ctx, append(argv, "--json", "--verbose", "--statistics")...)
	if err != nil {
		return nil, err
	}
	return ParseStatus(out)
}

// ParseDump reads what events2 --now prints. Without its last line,
// "exists -", it was cut short and is refused.
func ParseDump(out []byte) ([]Resource, error) {
	t := NewTable()
	for line := range bytes.Lines(out) {
		e, err := ParseEvent(line)
		if err == nil {
			err = t.Apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("parse events2 --now: %w", err)
		}
	}
	if !t.Complete() {
		return nil, garbage("parse events2 --now: no end", out)
	}
	return t.Resources(), nil
}

// The JSON of drbdsetup status. Sizes are KiB.
type (
	jsonResource struct {
		Name             string     `json:"name"`
		NodeID           *NodeID    `json:"node-id"`
		Role             Role       `json:"role"`
		SuspendedUser    bool       `json:"suspended-user"`
		SuspendedNoData  bool       `json:"suspended-no-data"`
		SuspendedFencing bool       `json:"suspended-fencing"`
		SuspendedQuorum  bool       `json:"suspended-quorum"`
		ForceIOFailures  bool       `json:"force-io-failures"`
		Devices          []jsonDev  `json:"devices"`
		Connections      []jsonPeer `json:"connections"`
	}
	jsonDev struct {
		Volume int       `json:"volume"`
		Minor  Minor     `json:"minor"`
		Disk   DiskState `json:"disk-state"`
		Client bool      `json:"client"`
		Quorum bool      `json:"quorum"`
		Open   *bool     `json:"open"`
		Size   int64     `json:"size"`
	}
	jsonPeer struct {
		NodeID  NodeID        `json:"peer-node-id"`
		Name    string        `json:"name"`
		Conn    ConnState     `json:"connection-state"`
		Role    Role          `json:"peer-role"`
		Devices []jsonPeerDev `json:"peer_devices"`
	}
	jsonPeerDev struct {
		Volume          int       `json:"volume"`
		Repl            ReplState `json:"replication-state"`
		Disk            DiskState `json:"peer-disk-state"`
		Client          bool      `json:"peer-client"`
		ResyncSuspended string    `json:"resync-suspended"`
		OutOfSync       int64     `json:"out-of-sync"`
		Done            *float64  `json:"percent-resync-done"`
	}
)

// ParseStatus reads what status --json --verbose --statistics prints.
func ParseStatus(out []byte) ([]Resource, error) {
	var all []jsonResource
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("parse status: %w: %w", ErrGarbage, err)
	}
	if all == nil {
		return nil, garbage("parse status", out)
	}
	resources := make([]Resource, 0, len(all))
	for _, j := range all {
		r, err := j.resource()
		if err != nil {
			return nil, fmt.Errorf("parse status of %.60q: %w: %w", j.Name, ErrGarbage, err)
		}
		resources = append(resources, r)
	}
	return resources, nil
}

func (j jsonResource) resource() (Resource, error) {
	if j.Name == "" || j.Role == "" {
		return Resource{}, errors.New("no name or role")
	}
	r := Resource{
		Name: j.Name, NodeID: NoNode, Role: j.Role, ForceIOFailures: j.ForceIOFailures,
		Suspended: Suspended{
			User: j.SuspendedUser, NoData: j.SuspendedNoData,
			Fencing: j.SuspendedFencing, Quorum: j.SuspendedQuorum,
		},
	}
	if j.NodeID != nil {
		r.NodeID = *j.NodeID
	}
	for _, d := range j.Devices {
		size, err := kibibytes(d.Size)
		if err != nil {
			return Resource{}, err
		}
		r.Devices = append(r.Devices, Device{
			Volume: d.Volume, Minor: d.Minor, Disk: d.Disk, Client: d.Client,
			Quorum: d.Quorum, Open: answer(d.Open), Size: size,
		})
	}
	for _, c := range j.Connections {
		p := Peer{Name: c.Name, NodeID: c.NodeID, Conn: c.Conn, Role: c.Role}
		for _, d := range c.Devices {
			outOfSync, err := kibibytes(d.OutOfSync)
			if err != nil {
				return Resource{}, err
			}
			pd := PeerDevice{
				Volume: d.Volume, Repl: d.Repl, Disk: d.Disk, Client: d.Client,
				ResyncSuspended: d.ResyncSuspended, OutOfSync: outOfSync, Done: Untold,
			}
			if d.Done != nil {
				pd.Done = within(*d.Done)
			}
			p.Devices = append(p.Devices, pd)
		}
		r.Peers = append(r.Peers, p)
	}
	r.settle()
	return r, nil
}

func kibibytes(n int64) (int64, error) {
	if n < 0 || n > math.MaxInt64/1024 {
		return 0, fmt.Errorf("size %d KiB", n)
	}
	return n * 1024, nil
}

func answer(b *bool) Answer {
	switch {
	case b == nil:
		return Unsaid
	case *b:
		return Yes
	}
	return No
}

// parseSuspended reads the events' word: "no", or reasons joined by commas
// (user, no-data, fencing, quorum).
func parseSuspended(s string) Suspended {
	var why Suspended
	for reason := range strings.SplitSeq(s, ",") {
		switch reason {
		case "user":
			why.User = true
		case "no-data":
			why.NoData = true
		case "fencing":
			why.Fencing = true
		case "quorum":
			why.Quorum = true
		}
	}
	return why
}
