package script

import (
	"fmt"
	"regexp"
	"strings"
)

// A Chapter is what a chapter of a Markdown document shows or does.
type Chapter struct {
	// Script is, as lines of a script: the rvol commands of console blocks, what they must print, and what a comment
	// that begins with `lab` says of the machines meanwhile.
	Script string
	// Shell are the sh blocks: what is run on a machine.
	Shell []string
}

// Chapters reads a document, by the titles of its chapters. Below a command stands what it prints; numbers and spaces
// may differ, and `...` stands for lines that are not shown. Below a command that is refused stands the refusal.
func Chapters(text string) map[string]Chapter {
	r := reader{chapters: map[string]Chapter{}}
	lines := append(strings.Split(text, "\n"), "")
	for i, line := range lines[:len(lines)-1] {
		switch {
		case r.block == "":
			r.prose(line)
		case r.block == "lab" && line == "-->", strings.HasPrefix(line, "```"):
			r.block = ""
		default:
			r.inside(line, lines[i+1])
		}
	}
	r.end("")
	return r.chapters
}

// reader is in a chapter, and in a block of it or between two.
type reader struct {
	chapters     map[string]Chapter
	title, block string
	here         Chapter
}

func (r *reader) prose(line string) {
	title, begins := strings.CutPrefix(line, "## ")
	kind, opens := strings.CutPrefix(line, "```")
	switch {
	case begins:
		r.end(title)
	case line == "<!-- lab":
		r.block = "lab"
	case opens:
		r.block = kind
		if kind == "" {
			r.block = "plain"
		}
		if kind == "sh" {
			r.here.Shell = append(r.here.Shell, "")
		}
	}
}

func (r *reader) inside(line, next string) {
	switch r.block {
	case "lab":
		r.here.Script += line + "\n"
	case "console":
		r.here.Script += shown(line, next) + "\n"
	case "sh":
		r.here.Shell[len(r.here.Shell)-1] += line + "\n"
	}
}

// end keeps the chapter, and begins another.
func (r *reader) end(next string) {
	if r.here.Script != "" || len(r.here.Shell) > 0 {
		r.chapters[r.title] = r.here
	}
	r.title, r.here = next, Chapter{}
}

// shown is a line of a console block as one of a script.
func shown(line, next string) string {
	command, isCommand := strings.CutPrefix(line, "$ rvol ")
	switch {
	case isCommand && strings.HasPrefix(next, "rvol: "):
		return "! rvol " + command
	case isCommand:
		return "rvol " + command
	case strings.HasPrefix(line, "rvol: "):
		return "stderr " + like(line)
	case strings.TrimSpace(line) == "" || line == "...":
		return ""
	}
	return "stdout " + like(line)
}

var (
	numbers = regexp.MustCompile(`\d+`)
	spaces  = regexp.MustCompile(`\s+`)
)

// like is an expression for lines that say the same with other numbers and spaces.
func like(line string) string {
	s := numbers.ReplaceAllLiteralString(regexp.QuoteMeta(strings.TrimSpace(line)), `\d+`)
	return fmt.Sprintf("'%s'", strings.ReplaceAll(spaces.ReplaceAllLiteralString(s, `\s+`), "'", "''"))
}
