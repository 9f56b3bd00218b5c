package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
)

// Removed stands where a secret was.
const Removed = "[removed]"

// Redactor takes secrets out of texts. It may be used by several goroutines.
type Redactor struct{ known known }

// New makes one that knows these secrets, besides what secrets look like.
func New(secrets ...[]byte) *Redactor {
	r := &Redactor{known: known{}}
	for _, s := range secrets {
		r.known.add(s)
	}
	return r
}

// Clean returns the text without secrets. The text stays as it is.
func (r *Redactor) Clean(text []byte) []byte {
	text = r.known.remove(text)
	for _, l := range looks {
		text = l.remove(text)
	}
	text = runs(text, 22, isBase64, r.encoded(unbase64))
	return runs(text, 32, isHex, r.encoded(unhex))
}

// encoded removes a run that hides a secret behind an encoding.
func (r *Redactor) encoded(decode func([]byte) []byte) func([]byte) []byte {
	return func(run []byte) []byte {
		plain := decode(run)
		if r.known.in(plain) || isPrivateKey(plain) {
			return []byte(Removed)
		}
		for _, l := range looks {
			if l.in(plain) {
				return []byte(Removed)
			}
		}
		return run
	}
}

// keyStarts are how private keys begin in DER, behind the length of the whole: PKCS #8, SEC 1 and PKCS #1.
var keyStarts = [][]byte{ // a list that nobody changes
	{0x02, 0x01, 0x00, 0x30},
	{0x02, 0x01, 0x01, 0x04},
	{0x02, 0x01, 0x00, 0x02},
}

// isPrivateKey says that der begins like a private key; the rest may be cut off.
func isPrivateKey(der []byte) bool {
	if len(der) < 8 || der[0] != 0x30 {
		return false
	}
	head := 2
	if der[1] > 0x80 {
		head += int(der[1] - 0x80)
	}
	for _, start := range keyStarts {
		if head < len(der) && bytes.HasPrefix(der[head:], start) {
			return true
		}
	}
	return false
}

// runs replaces the runs of bytes of a class that are long enough to hide something.
func runs(text []byte, least int, class func(byte) bool, with func([]byte) []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := 0
		for n < len(text) && class(text[n]) {
			n++
		}
		if n >= least {
			out = append(out, with(text[:n])...)
		} else {
			out = append(out, text[:n]...)
		}
		if n < len(text) {
			out = append(out, text[n])
			n++
		}
		text = text[n:]
	}
	return out
}

func isBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '_' || c == '-'
}

func isHex(c byte) bool {
	return 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' || '0' <= c && c <= '9'
}

func unbase64(run []byte) []byte {
	e := base64.RawStdEncoding
	if bytes.ContainsAny(run, "-_") {
		e = base64.RawURLEncoding
	}
	plain := make([]byte, e.DecodedLen(len(run)))
	n, _ := e.Decode(plain, run) // what was decoded before an error counts
	return plain[:n]
}

func unhex(run []byte) []byte {
	plain := make([]byte, hex.DecodedLen(len(run)))
	n, _ := hex.Decode(plain, run[:len(run)/2*2]) // likewise
	return plain[:n]
}
