package line

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Kinds of frames. A frame is its kind, two bytes of length, the payload, and the CRC-32 of all that.
const (
	kindHello = 'H' // payload: magic and a nonce
	kindData  = 'D'
	kindAck   = 'A' // payload: four bytes, how many bytes on the line were read
	kindBye   = 'B' // the agent ends the session
)

const (
	magic    = "LABHELLO1\n"
	nonceLen = 8
	maxData  = 1400
	overhead = 1 + 2 + 4
	window   = 3000 // bytes on their way to the node; its buffer takes 4096
)

var errGarbage = errors.New("garbage on the serial line")

func frame(kind byte, p []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{kind}, uint16(len(p)))
	b = append(b, p...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func hello(nonce []byte) []byte {
	return frame(kindHello, append([]byte(magic), nonce...))
}

// readFrame reads one frame; the payload is the caller's.
func readFrame(r *bufio.Reader) (kind byte, p []byte, err error) {
	h, err := r.Peek(3)
	if err != nil {
		return 0, nil, err
	}
	kind, n := h[0], int(binary.BigEndian.Uint16(h[1:]))
	if !bytes.ContainsRune([]byte{kindHello, kindData, kindAck, kindBye}, rune(kind)) || n > maxData {
		return 0, nil, fmt.Errorf("%w: kind %#x, length %d", errGarbage, kind, n)
	}
	b := make([]byte, n+overhead)
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, nil, err
	}
	sum := binary.BigEndian.Uint32(b[n+3:])
	if sum != crc32.ChecksumIEEE(b[:n+3]) {
		return 0, nil, fmt.Errorf("%w: wrong checksum", errGarbage)
	}
	return kind, b[3 : n+3], nil
}

// nonceOf returns the nonce of a hello, or nil.
func nonceOf(kind byte, p []byte) []byte {
	if kind != kindHello || len(p) != len(magic)+nonceLen || !bytes.HasPrefix(p, []byte(magic)) {
		return nil
	}
	return p[len(magic):]
}

// findHello skips to the next hello and returns its nonce.
func findHello(r *bufio.Reader) ([]byte, error) {
	whole := len(magic) + nonceLen + overhead
	for {
		b, err := r.Peek(whole)
		if err != nil {
			return nil, err
		}
		if b[0] == kindHello && bytes.HasPrefix(b[3:], []byte(magic)) {
			if kind, p, err := readFrame(bufio.NewReader(bytes.NewReader(b))); err == nil {
				if nonce := nonceOf(kind, p); nonce != nil {
					_, err = r.Discard(whole)
					return nonce, err
				}
			}
		}
		if _, err := r.Discard(1); err != nil {
			return nil, err
		}
	}
}
