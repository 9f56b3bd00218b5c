package redact

import (
	"bytes"
	"regexp"
)

// look is what some secrets look like, and what stays of one.
type look struct {
	hints   []string // in small letters, of which one is in each of them: regular expressions are slow
	lines   int      // over how many one may go; 0: any number
	pattern *regexp.Regexp
	with    string
}

// A value is quoted, quoted within something quoted, or a word.
const value = `(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&"'{}\[\]\\]+)`

// A word for a secret, as the end of a name: DRBD's shared-secret, an option --join-token, "luks_passphrase".
const word = `(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|private[_-]?key|sealing[_-]?key|ca[_-]?key|credentials?)`

var words = []string{"passw", "passphrase", "secret", "token", "key", "credential"} // a list that nobody changes

var looks = []look{ // the same
	{
		[]string{"private key-----"},
		0,
		regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`), Removed + " private key",
	},
	{ // the id of a token is no secret
		[]string{"rvol1."},
		1,
		regexp.MustCompile(`(?i)\b(rvol1\.[a-z]+\.[0-9a-z]+)\.[0-9a-z]+(?:\.[0-9a-z]+)*`), "${1}." + Removed,
	},
	{
		[]string{"bearer", "basic"},
		1,
		regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9+/._~-]{8,}=*`), "${1} " + Removed,
	},
	{[]string{"/login#"}, 1, regexp.MustCompile(`(/login#)[^\s"']+`), "${1}" + Removed}, // of the dashboard, once
	{words, 3, regexp.MustCompile(`(?i)(` + word + `\\?["']?\s*[:=]\s*)` + value), `${1}"` + Removed + `"`},
	{words, 3, regexp.MustCompile(`(?i)((?:shared-secret|--?[a-z-]*` + word + `)\s+)` + value), `${1}"` + Removed + `"`},
}

func (l look) in(text []byte) bool {
	return l.hint(small(text)) >= 0 && l.pattern.Match(text)
}

// hint is where the first of them stands; -1: nowhere.
func (l look) hint(small []byte) int {
	first := -1
	for _, h := range l.hints {
		if at := bytes.Index(small, []byte(h)); at >= 0 && (first < 0 || at < first) {
			first, small = at, small[:at+len(h)]
		}
	}
	return first
}

// remove looks closely at the lines that have a hint, and at those behind them.
func (l look) remove(text []byte) []byte {
	lower := small(text)
	if l.hint(lower) < 0 {
		return text
	}
	if l.lines == 0 {
		return l.pattern.ReplaceAll(text, []byte(l.with))
	}
	out := make([]byte, 0, len(text))
	for {
		at := l.hint(lower)
		if at < 0 {
			return append(out, text...)
		}
		begin, end := bytes.LastIndexByte(lower[:at], '\n')+1, at
		for range l.lines {
			if n := bytes.IndexByte(lower[end:], '\n'); n >= 0 {
				end += n + 1
			} else {
				end = len(lower)
			}
		}
		out = append(out, text[:begin]...)
		out = append(out, l.pattern.ReplaceAll(text[begin:end], []byte(l.with))...)
		text, lower = text[end:], lower[end:]
	}
}

// small writes ASCII letters small, and keeps every byte where it is.
func small(text []byte) []byte {
	out := bytes.Clone(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return out
}
