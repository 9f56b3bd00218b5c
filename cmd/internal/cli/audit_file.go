package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"rvol/coordinator/state"
)

func (a *app) verifyFile(file string) error {
	in := a.env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return failed("read the trail: %s", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	got, err := verifyTrail(in)
	if err != nil {
		return failed("%s: %s", file, err)
	}
	facts := object{
		{"headers", got.headers}, {"first", got.first}, {"last", got.last.Index}, {"chain", got.last.Hash.String()},
	}
	if a.flags.structured() {
		return a.write(facts)
	}
	a.note("It proves that this is whole from its first to its last line, and not that it is all there was: compare the hash.")
	_, err = fmt.Fprintf(a.env.Stdout, "%s is sound: %d entries, from index %d to %d, hash %s\n", file, got.headers, got.first, got.last.Index, got.last.Hash)
	return err
}

// verified is what a whole trail says.
type verified struct {
	headers int
	first   uint64
	last    state.Header
}

// longestHeader bounds a line, in bytes: a header names each object that a transaction changes.
const longestHeader = 64 << 20

func verifyTrail(in io.Reader) (verified, error) {
	var v verified
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<16), longestHeader)
	for lines.Scan() {
		var h state.Header
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			return v, failed("line %d is no entry of a trail: %s", v.headers+1, err)
		}
		switch {
		case h.Sum() != h.Hash:
			return v, failed("line %d, the entry of transaction %d at index %d, was altered", v.headers+1, h.Number, h.Index)
		case v.headers > 0 && h.Previous != v.last.Hash:
			return v, failed("line %d, the entry of transaction %d at index %d, does not follow the one before: something between them is missing",
				v.headers+1, h.Number, h.Index)
		case v.headers == 0:
			v.first = h.Index
		}
		v.headers, v.last = v.headers+1, h
	}
	if err := lines.Err(); err != nil {
		return v, err
	}
	if v.headers == 0 {
		return v, failed("there is no entry in it")
	}
	return v, nil
}
