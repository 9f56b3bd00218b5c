package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
)

var formats = []string{"table", "wide", "json", "yaml", "name"}

// structured says whether the answer is for programs.
func (g globals) structured() bool { return g.output == "json" || g.output == "yaml" }

// write writes a value in the form json or yaml.
func (a *app) write(v any) error {
	if a.flags.output == "yaml" {
		return writeYAML(a.env.Stdout, v)
	}
	return writeJSON(a.env.Stdout, v)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func writeYAML(w io.Writer, v any) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return err
	}
	return e.Close()
}

// changed answers a command that changed an object: with the object itself for programs, with a sentence for people.
func (a *app) changed(kind, name string, m proto.Message, format string, args ...any) error {
	switch {
	case a.flags.structured():
		return a.write(objectOf(m))
	case a.flags.output == "name":
		_, err := fmt.Fprintf(a.env.Stdout, "%s/%s\n", kind, name)
		return err
	case a.flags.quiet:
		return nil
	}
	_, err := fmt.Fprintf(a.env.Stdout, "%s %s "+format+"\n", append([]any{kind, name}, args...)...)
	return err
}
