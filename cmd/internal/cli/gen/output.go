package main

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"rvol/cmd/internal/cli"
	"rvol/proto"
)

const outputIntro = `.TH RVOL-OUTPUT 7 "" rvol "rvol manual"
.SH NAME
rvol\-output \- what rvol answers, for people and for programs
.SH DESCRIPTION
.B \-o table
and
.B \-o wide
are for people: columns may come and change.
.B \-o name
writes one KIND/NAME in each line.
.B \-o json
and
.B \-o yaml
are for programs: a field keeps its name, its type and its meaning. New ones may come, so that programs pass over what
they do not know.
.PP
A list is an array, also an empty one;
.B show
with one name writes the object itself, with several an array. Commands that change something write the object as it is
then. Fields stand in the order of this page. A field that is not known or does not apply is absent when it is marked as
optional, or is an object or a time; all others are always there. Numbers are numbers, 64 bits of them too. Sizes are
bytes. Times are RFC 3339 in UTC, durations seconds with an s behind: "1.5s".
`

// outputPage tells of every form in which rvol answers.
func outputPage() (string, error) {
	comments, err := comments(proto.Admin)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(outputIntro)
	b.WriteString(".SH COLUMNS\n")
	for _, f := range cli.Forms() {
		if len(f.Columns) == 0 {
			continue
		}
		fmt.Fprintf(&b, ".TP\n.B %s\n%s", escape(f.Command), escape(strings.Join(f.Columns, ", ")))
		if len(f.Wide) > 0 {
			fmt.Fprintf(&b, "; wide adds %s", escape(strings.Join(f.Wide, ", ")))
		}
		b.WriteString(".\n")
	}
	b.WriteString(".SH DOCUMENTS\n")
	for _, f := range cli.Forms() {
		if f.Message != nil {
			fmt.Fprintf(&b, ".TP\n.B %s\nwrites %s.\n", escape(f.Command), f.Message.Name())
			continue
		}
		fmt.Fprintf(&b, ".TP\n.B %s\nwrites:\n.RS\n", escape(f.Command))
		for _, field := range f.Fields {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR \\fI%s\\fR\n", escape(field.Name), escape(field.Type))
		}
		b.WriteString(".RE\n")
	}
	for _, m := range messages() {
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(string(m.Name())))
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR \\fI%s\\fR\n", escape(string(f.Name())), escape(typeOf(f)))
			if text := comments[string(m.Name())+"."+string(f.Name())]; text != "" {
				fmt.Fprintf(&b, "%s.\n", escape(text))
			}
		}
	}
	b.WriteString(".SH SEE ALSO\n.BR rvol (1)\n")
	return b.String(), nil
}

// messages are those of all forms, and those within them, by name.
func messages() []protoreflect.MessageDescriptor {
	seen := map[string]protoreflect.MessageDescriptor{}
	var add func(protoreflect.MessageDescriptor)
	add = func(m protoreflect.MessageDescriptor) {
		if m == nil || seen[string(m.Name())] != nil || m.ParentFile().Package() != "rvol.admin.v1" {
			return
		}
		seen[string(m.Name())] = m
		for i := range m.Fields().Len() {
			if f := m.Fields().Get(i); !f.IsMap() {
				add(f.Message())
			}
		}
	}
	for _, f := range cli.Forms() {
		add(f.Message)
	}
	list := make([]protoreflect.MessageDescriptor, 0, len(seen))
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, seen[name])
	}
	return list
}

// typeOf is what a field holds, in JSON.
func typeOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map to " + plainType(f.MapValue())
	case f.IsList():
		return "list of " + plainType(f)
	case f.HasOptionalKeyword():
		return plainType(f) + ", optional"
	}
	return plainType(f)
}

func plainType(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return strings.ReplaceAll(strings.ReplaceAll(string(f.Message().Name()), "Timestamp", "time"), "Duration", "duration")
	case protoreflect.BytesKind:
		return "base64"
	default:
		return f.Kind().String()
	}
}

var (
	messageStart = regexp.MustCompile(`^message (\w+) \{`)
	fieldLine    = regexp.MustCompile(`^\s+(?:repeated |optional )?(?:map<[^>]*>|[\w.]+) (\w+) = \d+;(?: // (.*))?$`)
	commentLine  = regexp.MustCompile(`^\s+// (.*)$`)
)

// comments reads what the API says of the fields of its messages: behind a field, or on the lines above it.
func comments(files fs.FS) (map[string]string, error) {
	all := map[string]string{}
	names, err := fs.Glob(files, "admin/v1/*.proto")
	for _, name := range names {
		text, readErr := fs.ReadFile(files, name)
		if readErr != nil {
			return nil, readErr
		}
		message, above := "", []string(nil)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if m := messageStart.FindStringSubmatch(line); m != nil {
				message = m[1]
			}
			if m := commentLine.FindStringSubmatch(line); m != nil {
				above = append(above, m[1])
				continue
			}
			if m := fieldLine.FindStringSubmatch(line); m != nil {
				text := append(above, m[2])
				all[message+"."+m[1]] = strings.TrimRight(strings.TrimSpace(strings.Join(text, " ")), ".")
			}
			above = nil
		}
	}
	return all, err
}
