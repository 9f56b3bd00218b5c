package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 256 << 20

// A LineError names the line that could not be read.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Answer writes the answer to every object of r. Blank lines are skipped.
// What was answered before a line that cannot be read stays written.
func Answer[In, Out any](r io.Reader, w io.Writer, answer func(In) (Out, error)) error {
	out := bufio.NewWriter(w)
	err := each(r, maxLine, func(line []byte) error {
		var in In
		if err := decode(line, &in); err != nil {
			return err
		}
		answered, err := answer(in)
		if err != nil {
			return err
		}
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		return enc.Encode(answered)
	})
	return errors.Join(err, out.Flush())
}

func each(r io.Reader, longest int, do func([]byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for number, last := 1, false; !last; number++ {
		var err error
		line, err = readLine(in, line[:0], longest)
		last = errors.Is(err, io.EOF)
		if err != nil && !last {
			return &LineError{Line: number, Err: err}
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := do(text); err != nil {
				return &LineError{Line: number, Err: err}
			}
		}
	}
	return nil
}

// readLine appends one line to line.
func readLine(in *bufio.Reader, line []byte, longest int) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > longest {
			return line, fmt.Errorf("longer than %d bytes", longest)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func decode(line []byte, v any) error {
	switch {
	case bytes.HasPrefix(line, []byte("\ufeff")):
		return errors.New("starts with a byte order mark: save the file as UTF-8 without one")
	case line[0] != '{':
		return errors.New("is not a JSON object")
	}
	return json.Unmarshal(line, v)
}
