package lvm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// A Signature is something that blkid recognises on a block device.
type Signature struct {
	Type   string `json:"type"`   // "ext4", "LVM2_member", "gpt", "drbd" ...
	Offset string `json:"offset"` // "0x438"
	UUID   string `json:"uuid"`
	Label  string `json:"label"`
}

// Signatures runs `wipefs --json DEVICE`, which reads only.
func (t *Tool) Signatures(ctx context.Context, device string) ([]Signature, error) {
	if err := verify(check{"device", device, deviceRE}); err != nil {
		return nil, err
	}
	out, err := t.run(ctx, "wipefs", "--json", device)
	if err != nil {
		return nil, newError("wipefs", device, err)
	}
	var report struct{ Signatures *[]Signature }
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, garbage("wipefs", device, err)
	}
	if report.Signatures == nil {
		return nil, garbage("wipefs", device, errors.New("no list of signatures"))
	}
	for _, s := range *report.Signatures {
		if s.Type == "" {
			return nil, garbage("wipefs", device, errors.New("a signature without a type"))
		}
	}
	return *report.Signatures, nil
}

// Discard runs `blkdiscard DEVICE`: the whole device, which must not be mounted.
func (t *Tool) Discard(ctx context.Context, device string) error {
	if err := verify(check{"device", device, deviceRE}); err != nil {
		return err
	}
	return t.exec(ctx, device, "blkdiscard", device)
}

// ZeroOut runs `blkdiscard --zeroout DEVICE`: the whole device, by the disk's
// own command where it has one, by writing where not.
func (t *Tool) ZeroOut(ctx context.Context, device string) error {
	if err := verify(check{"device", device, deviceRE}); err != nil {
		return err
	}
	return t.exec(ctx, device, "blkdiscard", "--zeroout", device)
}

// ZeroRange runs `blkdiscard --zeroout` on a part of a device, which may be in use.
func (t *Tool) ZeroRange(ctx context.Context, device string, offset, length int64) error {
	if err := verify(check{"device", device, deviceRE}); err != nil {
		return err
	}
	if offset < 0 || length <= 0 || offset%SectorSize != 0 || length%SectorSize != 0 {
		return fmt.Errorf("%w: range of %d bytes at %d: want whole sectors", ErrBadArgument, length, offset)
	}
	return t.exec(ctx, device, "blkdiscard", "--zeroout", "--force",
		"--offset", strconv.FormatInt(offset, 10), "--length", strconv.FormatInt(length, 10), device)
}

func garbage(verb, object string, err error) error {
	return fmt.Errorf("%s %s: %w: %w", verb, object, ErrGarbage, err)
}
