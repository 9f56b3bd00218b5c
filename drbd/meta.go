package drbd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A UUID names a data generation of a device, or a device itself.
type UUID uint64

// JustCreated is the current UUID that create-md writes: the disk has never
// held a data generation.
const JustCreated UUID = 4

// String gives the sixteen hexadecimal digits that the tools print.
func (u UUID) String() string { return fmt.Sprintf("%016X", uint64(u)) }

// Metadata is what a detached backing disk says of itself.
type Metadata struct {
	Format  string // "v08" (DRBD 8.4) or "v09"
	Current UUID   // data generation
	Device  UUID   // what WriteDevUUID wrote; 0 after CreateMD
	Peers   int    // bitmap slots
	Size    int64  // usable bytes last agreed on with the peers; 0 before
}

// CreateMD writes new metadata over whatever the disk holds. It goes
// straight to drbdmeta: drbdadm create-md with -c FILE alone has
// usage-count at its default "ask" and may talk to the network.
//
//	drbdmeta MINOR v09 DISK internal create-md PEERS --force
//
// On DRBD 8.4, which has one bitmap slot:
//
//	drbdmeta MINOR v08 DISK internal create-md --force
func (t *Tool) CreateMD(ctx context.Context, d MetaDev, peers int) error {
	if t.ver.Is84() {
		_, err := t.meta(ctx, d, "create-md", "--force")
		return err
	}
	if peers < 1 || peers > 31 {
		return invalid("bitmap slots", strconv.Itoa(peers), "want 1 to 31")
	}
	_, err := t.meta(ctx, d, "create-md", strconv.Itoa(peers), "--force")
	return err
}

// WipeMD makes the metadata of a detached disk unrecognizable.
//
//	drbdmeta MINOR v08|v09 DISK internal wipe-md --force
func (t *Tool) WipeMD(ctx context.Context, d MetaDev) error {
	_, err := t.meta(ctx, d, "wipe-md", "--force")
	return err
}

// DumpMD reads the metadata of a detached disk; ErrAlreadyAttached or
// ErrUncleanMetadata (run Up or Attach, which apply the log) are possible.
//
//	drbdmeta MINOR v08|v09 DISK internal dump-md
func (t *Tool) DumpMD(ctx context.Context, d MetaDev) (Metadata, error) {
	out, err := t.meta(ctx, d, "dump-md")
	if err != nil {
		return Metadata{}, err
	}
	return ParseDumpMD(out)
}

// CheckResize moves internal metadata to the end of a disk that was grown
// while DRBD was down. Run it before Up and Attach then.
//
//	drbdmeta MINOR v08|v09 DISK internal check-resize
func (t *Tool) CheckResize(ctx context.Context, d MetaDev) error {
	_, err := t.meta(ctx, d, "check-resize")
	return err
}

// WriteDevUUID binds a detached disk to the replica it belongs to.
//
//	drbdmeta MINOR v08|v09 DISK internal write-dev-uuid UUID
func (t *Tool) WriteDevUUID(ctx context.Context, d MetaDev, u UUID) error {
	_, err := t.meta(ctx, d, "write-dev-uuid", u.String())
	return err
}

// ReadDevUUID tells which replica a disk belongs to.
//
//	drbdmeta MINOR v08|v09 DISK internal read-dev-uuid
func (t *Tool) ReadDevUUID(ctx context.Context, d MetaDev) (UUID, error) {
	out, err := t.meta(ctx, d, "read-dev-uuid")
	if err != nil {
		return 0, err
	}
	return parseUUID(string(bytes.TrimSpace(out)))
}

// ParseDumpMD reads what dump-md prints.
func ParseDumpMD(out []byte) (Metadata, error) {
	var p dumpParser
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		words := strings.Fields(strings.ReplaceAll(lines.Text(), ";", " "))
		if err := p.line(words); err != nil {
			return Metadata{}, fmt.Errorf("parse dump-md: %w", err)
		}
	}
	switch {
	case p.md.Format != "v08" && p.md.Format != "v09":
		return Metadata{}, fmt.Errorf("parse dump-md: unknown format %.20q", p.md.Format)
	case !p.current || !p.device:
		return Metadata{}, errors.New("parse dump-md: cut short")
	}
	return p.md, nil
}

// dumpParser is how far a dump was read.
type dumpParser struct {
	md              Metadata
	current, device bool
	inUUIDs         bool // the line after v08's "uuid {"
}

func (p *dumpParser) line(words []string) (err error) {
	if p.inUUIDs && len(words) > 0 {
		words, p.inUUIDs = []string{"current-uuid", words[0]}, false
	}
	if len(words) < 2 {
		return nil
	}
	switch words[0] {
	case "version":
		p.md.Format, p.md.Peers = strings.Trim(words[1], `"`), 1
	case "max-peers":
		p.md.Peers, err = strconv.Atoi(words[1])
	case "uuid":
		p.inUUIDs = true
	case "current-uuid":
		p.current = true
		p.md.Current, err = parseUUID(words[1])
	case "device-uuid":
		p.device = true
		p.md.Device, err = parseUUID(words[1])
	case "la-size-sect", "effective-size":
		p.md.Size, err = parseSize(words[1], 512)
	}
	return err
}

// meta runs drbdmeta in the format of this version.
func (t *Tool) meta(ctx context.Context, d MetaDev, verb ...string) ([]byte, error) {
	if err := checkPath("disk", d.Disk); err != nil {
		return nil, err
	}
	format := "v09"
	if t.ver.Is84() {
		format = "v08"
	}
	out, err := t.out(ctx, append([]string{"drbdmeta", d.Minor.String(), format, d.Disk, "internal"}, verb...)...)
	refusal, ok := errors.AsType[*Error](err)
	if ok && refusal.Code == 1 && refusal.Text == "" {
		refusal.Kind = ErrNoMetadata // read- and write-dev-uuid say nothing; utils-9.22.0/06, 11
	}
	return out, err
}

func parseUUID(s string) (UUID, error) {
	u, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parse UUID: %w", err)
	}
	return UUID(u), nil
}
