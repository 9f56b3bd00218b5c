package drbd

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
)

// Generations are the data generations of one device, as it stands with one peer.
type Generations struct {
	Current UUID
	Bitmap  UUID   // what the peer has, when less was written there than here; 0: nothing is missing there
	History []UUID // what both had before; younger first, without zeros
}

// same ignores bit 0, which tells who was Primary.
func (u UUID) same(o UUID) bool { return u&^1 == o&^1 }

// holds says that the data of a generation is contained in this one.
func (g Generations) holds(u UUID) bool {
	return g.Current.same(u) || g.Bitmap != 0 && g.Bitmap.same(u) || slices.ContainsFunc(g.History, u.same)
}

// Apart says that two copies were both written alone: neither holds what the other was when
// they parted last, so that DRBD connects them no more.
func (g Generations) Apart(o Generations) bool {
	if g.Current == JustCreated || o.Current == JustCreated {
		return false // what holds nothing yet takes all
	}
	return !g.holds(o.Current) && !o.holds(g.Current)
}

// Generations tells the data generations of an attached device. DRBD 9 is asked through one
// peer, connected or not; without a peer use DumpMD before the disk is attached.
//
//	drbdsetup get-gi RESOURCE NODE-ID VOLUME
//
// On DRBD 8.4:
//
//	drbdsetup get-gi MINOR
func (t *Tool) Generations(ctx context.Context, r Ref, peer NodeID, volume int) (Generations, error) {
	if err := checkName(r.Name); err != nil {
		return Generations{}, err
	}
	argv := []string{"drbdsetup", "get-gi", r.Name, peer.String(), strconv.Itoa(volume)}
	if t.ver.Is84() {
		minor, err := r.minor(volume)
		if err != nil {
			return Generations{}, err
		}
		argv = []string{"drbdsetup", "get-gi", minor.String()}
	}
	out, err := t.out(ctx, argv...)
	if err != nil {
		return Generations{}, err
	}
	return ParseGI(out)
}

// minor is the device of a volume.
func (r Ref) minor(volume int) (Minor, error) {
	if volume < 0 || volume >= len(r.Minors) {
		return 0, invalid("volume", strconv.Itoa(volume), "not a device of "+r.Name)
	}
	return r.Minors[volume], nil
}

// ParseGI reads a line of get-gi: current, bitmap and two older UUIDs, then flags, all
// separated by colons.
func ParseGI(out []byte) (Generations, error) {
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	fields := bytes.Split(line, []byte(":"))
	if len(fields) < 4 {
		return Generations{}, fmt.Errorf("parse get-gi: no generations in %.60q", out)
	}
	var ids [4]UUID
	for i := range ids {
		u, err := parseUUID(string(fields[i]))
		if err != nil {
			return Generations{}, fmt.Errorf("parse get-gi: %w", err)
		}
		ids[i] = u
	}
	older := slices.DeleteFunc(slices.Clone(ids[2:]), func(u UUID) bool { return u == 0 })
	if len(older) == 0 {
		older = nil
	}
	return Generations{Current: ids[0], Bitmap: ids[1], History: older}, nil
}
