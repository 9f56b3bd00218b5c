package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
)

// known are the forms of secrets by their first bytes. Clusters have tens of thousands of secrets and many
// forms of each: a text is looked at once, whatever their number.
type known map[uint64][][]byte

// least is how long a secret must be: what is shorter stands in texts by chance, and none of ours is.
const least = 8

func (k known) add(secret []byte) {
	secret = bytes.TrimSpace(secret)
	if len(secret) < least {
		return
	}
	for _, form := range forms(secret) {
		first := binary.LittleEndian.Uint64(form)
		k[first] = append(k[first], form)
	}
}

// forms are the ways in which a secret may be written.
func forms(secret []byte) (list [][]byte) {
	add := func(form []byte) {
		if len(form) >= least && !slices.ContainsFunc(list, func(f []byte) bool { return bytes.Equal(f, form) }) {
			list = append(list, form)
		}
	}
	add(secret)
	add(hex.AppendEncode(nil, secret))
	add(bytes.ToUpper(hex.AppendEncode(nil, secret)))
	add([]byte(url.QueryEscape(string(secret))))
	add([]byte(url.PathEscape(string(secret))))
	if quoted, err := json.Marshal(string(secret)); err == nil {
		add(quoted[1 : len(quoted)-1])
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // bytes of something else in front, which shift it
			add(within(e, secret, before))
		}
	}
	return list
}

// within is what of the encoding of a secret does not depend on what stands before and behind it.
func within(e *base64.Encoding, secret []byte, before int) []byte {
	all := e.AppendEncode(nil, append(make([]byte, before), secret...))
	first := (before*8 + 5) / 6            // the character that only bits of the secret make
	last := (before + len(secret)) * 8 / 6 // behind the last such
	return all[first:last]
}

// match is the longest form that b begins with; 0: none.
func (k known) match(b []byte) (longest int) {
	if len(b) < least {
		return 0
	}
	for _, form := range k[binary.LittleEndian.Uint64(b)] {
		if len(form) > longest && bytes.HasPrefix(b, form) {
			longest = len(form)
		}
	}
	return longest
}

func (k known) in(b []byte) bool {
	for at := range b {
		if k.match(b[at:]) > 0 {
			return true
		}
	}
	return false
}

func (k known) remove(text []byte) []byte {
	out, from := make([]byte, 0, len(text)), 0
	for at := 0; at < len(text); {
		n := k.match(text[at:])
		if n == 0 {
			at++
			continue
		}
		out = append(append(out, text[from:at]...), Removed...)
		at += n
		from = at
	}
	return append(out, text[from:]...)
}
