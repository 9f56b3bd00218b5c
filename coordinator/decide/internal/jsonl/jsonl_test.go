package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type object struct {
	N int `json:"n"`
}

func double(in object) (object, error) {
	if in.N < 0 {
		return object{}, errors.New("n is negative")
	}
	return object{N: 2 * in.N}, nil
}

func TestEveryObjectIsAnsweredInOrder(t *testing.T) {
	in := "{\"n\":1}\r\n\n   \t\n{\"n\":2,\"other\":[{}]}\n{ \"n\" : 3 }"
	var out bytes.Buffer
	if err := Answer(iotest.OneByteReader(strings.NewReader(in)), &out, double); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{\"n\":2}\n{\"n\":4}\n{\"n\":6}\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeReadOrAnsweredIsNamedByItsLine(t *testing.T) {
	torn := errors.New("torn")
	for _, tc := range []struct {
		name string
		in   io.Reader
		want string
	}{
		{"a refusal", strings.NewReader("{}\n{\"n\":-1}\n{}"), "line 2: n is negative"},
		{"a list", strings.NewReader("\n\n[]"), "line 3: is not a JSON object"},
		{"a byte order mark", strings.NewReader("\ufeff{}"), "line 1: starts with a byte order mark: save the file as UTF-8 without one"},
		{"half an object", strings.NewReader("{}\n{"), "line 2: unexpected end of JSON input"},
		{"a reader that fails", io.MultiReader(strings.NewReader("{}\n{}\n{"), iotest.ErrReader(torn)), "line 3: torn"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Answer(tc.in, io.Discard, double)
			if fmt.Sprint(err) != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

func TestAWriterThatFailsIsTold(t *testing.T) {
	full := errors.New("no space")
	_, w := io.Pipe()
	if err := w.CloseWithError(full); err != nil {
		t.Fatal(err)
	}
	if err := Answer(strings.NewReader("{}"), w, double); err == nil {
		t.Error("nobody was told")
	}
}

func TestALineThatIsTooLongIsNotReadToItsEnd(t *testing.T) {
	in := strings.NewReader("{}\n" + strings.Repeat(" ", 1<<20) + "{}\n{}")
	err := each(in, 200_000, func([]byte) error { return nil })
	if fmt.Sprint(err) != "line 2: longer than 200000 bytes" {
		t.Errorf("%v", err)
	}
	if left := in.Len(); left < 1<<19 {
		t.Errorf("all but %d bytes were read", left)
	}
}
