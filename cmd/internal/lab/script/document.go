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
	chapters := map[string]Chapter{}
	var title, block string
	var here Chapter
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case block == "" && strings.HasPrefix(line, "## "):
			here.put(chapters, title)
			title, here = strings.TrimPrefix(line, "## "), Chapter{}
		case block == "" && line == "<!-- lab":
			block = "lab"
		case block == "" && strings.HasPrefix(line, "```"):
			if block = strings.TrimPrefix(line, "```"); block == "sh" {
				here.Shell = append(here.Shell, "")
			}
		case block == "lab" && line == "-->", strings.HasPrefix(line, "```"):
			block = ""
		case block == "lab":
			here.Script += line + "\n"
		case block == "console":
			here.Script += shown(line, lines[i+1]) + "\n"
		case block == "sh":
			here.Shell[len(here.Shell)-1] += line + "\n"
		}
	}
	here.put(chapters, title)
	return chapters
}

func (c Chapter) put(chapters map[string]Chapter, title string) {
	if c.Script != "" || len(c.Shell) > 0 {
		chapters[title] = c
	}
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
