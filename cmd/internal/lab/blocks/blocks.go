package blocks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

// Size is how many bytes a block has, and Slots how many there are room for: block N is written over block N-Slots.
const (
	Size  = 4096
	Slots = 1024
)

const (
	magic  = "rvolblk1"
	header = len(magic) + 8
)

// fill makes the block of a number: what follows from the number, and its checksum.
func fill(block []byte, number int64) {
	copy(block, magic)
	binary.BigEndian.PutUint64(block[len(magic):], uint64(number))
	body := block[header : Size-sha256.Size]
	seed := [32]byte{}
	binary.BigEndian.PutUint64(seed[:], uint64(number))
	_, _ = rand.NewChaCha8(seed).Read(body) // never fails
	sum := sha256.Sum256(block[:Size-sha256.Size])
	copy(block[Size-sha256.Size:], sum[:])
}

// numberOf is the number of a block that is whole.
func numberOf(block []byte) (int64, error) {
	if !bytes.HasPrefix(block, []byte(magic)) {
		return 0, errors.New("no block was ever written there")
	}
	n := int64(binary.BigEndian.Uint64(block[len(magic):]))
	want := make([]byte, Size)
	fill(want, n)
	if !bytes.Equal(block, want) {
		return n, fmt.Errorf("block %d is damaged", n)
	}
	return n, nil
}

// Write writes the blocks from a number on until ctx ends, and tells each number once its block is stable. The device must not
// return before that.
func Write(ctx context.Context, device io.WriterAt, from int64, tell io.Writer) error {
	block := aligned()
	for n := from; ctx.Err() == nil; n++ {
		fill(block, n)
		if _, err := device.WriteAt(block, n%Slots*Size); err != nil {
			return fmt.Errorf("write block %d: %w", n, err)
		}
		if _, err := fmt.Fprintln(tell, n); err != nil {
			return fmt.Errorf("tell that block %d is written: %w", n, err)
		}
	}
	return nil
}

// Check says what is lost of the blocks up to last, all of which were told. Newer ones may be there: they were written, and nobody
// heard of it.
func Check(device io.ReaderAt, last int64) error {
	var lost []error
	block := aligned()
	for n := max(0, last-Slots+1); n <= last; n++ {
		if _, err := device.ReadAt(block, n%Slots*Size); err != nil {
			return fmt.Errorf("read block %d: %w", n, err)
		}
		found, err := numberOf(block)
		switch {
		case err != nil:
			lost = append(lost, fmt.Errorf("in the place of block %d: %w", n, err))
		case found%Slots != n%Slots:
			lost = append(lost, fmt.Errorf("in the place of block %d is block %d, which belongs elsewhere", n, found))
		case found < n:
			lost = append(lost, fmt.Errorf("block %d is lost: block %d is still in its place", n, found))
		}
	}
	return errors.Join(lost...)
}
