package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// TokenKind is what a token lets its holder join as.
type TokenKind string

// The kinds of token.
const (
	NodeToken        TokenKind = "node"
	CoordinatorToken TokenKind = "coordinator"
)

// Role is the role of whoever joins with a token of this kind, and empty for an unknown kind.
func (k TokenKind) Role() Role {
	switch k {
	case NodeToken:
		return Agent
	case CoordinatorToken:
		return Server
	default:
		return ""
	}
}

// ErrInvalidToken marks a text that is not a token.
var ErrInvalidToken = errors.New("invalid token")

const (
	tokenPrefix = "rvol1"
	tokenIDSize = 5 // bytes; 8 characters
	tokenParts  = 6
)

// Token is the right to join a cluster once. It does not show its secret when printed.
//
// As text it is rvol1.<kind>.<id>.<secret>.<ca hash>.<checksum>, the last four in Crockford's base 32, which has no
// letters that look like digits and does not tell capitals from small letters.
type Token struct {
	Kind TokenKind
	// ID names the token in lists and logs; it is no secret.
	ID string
	// CA pins the cluster's CA.
	CA     Hash
	secret [32]byte
}

// NewToken draws a token.
func NewToken(kind TokenKind, ca Hash) (Token, error) {
	if kind.Role() == "" {
		return Token{}, fmt.Errorf("%w: kind %q: want %s or %s", ErrInvalidToken, kind, NodeToken, CoordinatorToken)
	}
	t := Token{Kind: kind, CA: ca}
	id := make([]byte, tokenIDSize)
	_, _ = rand.Read(id) // crypto/rand ends the process rather than return an error
	_, _ = rand.Read(t.secret[:])
	t.ID = crockford().EncodeToString(id)
	return t, nil
}

// ParseToken reads what Reveal wrote, and says what is wrong without quoting it.
func ParseToken(text string) (Token, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	parts := strings.Split(text, ".")
	if parts[0] != tokenPrefix {
		return Token{}, fmt.Errorf("%w: it does not begin with %q", ErrInvalidToken, tokenPrefix+".")
	}
	if len(parts) != tokenParts {
		return Token{}, fmt.Errorf("%w: it has %d of %d parts: was it copied whole?", ErrInvalidToken, len(parts), tokenParts)
	}
	t := Token{Kind: TokenKind(parts[1]), ID: unambiguous(parts[2])}
	if t.Kind.Role() == "" {
		return Token{}, fmt.Errorf("%w: unknown kind %q: want %s or %s", ErrInvalidToken, parts[1], NodeToken, CoordinatorToken)
	}
	if err := errors.Join(
		decode(make([]byte, tokenIDSize), "id", parts[2]),
		decode(t.secret[:], "secret", parts[3]),
		decode(t.CA[:], "CA hash", parts[4]),
	); err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrInvalidToken, err)
	}
	// Comparing texts checks the checksum and refuses bits that the encoding has and the values lack.
	canonical := parts[0] + "." + parts[1] + "." + unambiguous(strings.Join(parts[2:], "."))
	if canonical != t.Reveal() {
		return Token{}, fmt.Errorf("%w: the checksum does not fit: a character is wrong or missing", ErrInvalidToken)
	}
	return t, nil
}

// Reveal is the token as text, for the one who is to join.
func (t Token) Reveal() string {
	body := strings.Join([]string{
		tokenPrefix, string(t.Kind), t.ID,
		crockford().EncodeToString(t.secret[:]), crockford().EncodeToString(t.CA[:]),
	}, ".")
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body)))
	return body + "." + crockford().EncodeToString(sum)
}

// String names the token and withholds its secret.
func (t Token) String() string {
	return tokenPrefix + "." + string(t.Kind) + "." + t.ID + ".(secret withheld)"
}

// GoString is String, for the sake of the secret.
func (t Token) GoString() string { return t.String() }

// Hash is what the state stores in place of the secret.
func (t Token) Hash() Hash { return sha256.Sum256(t.secret[:]) }

func crockford() *base32.Encoding {
	return base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
}

// unambiguous maps the letters that Crockford's alphabet leaves out to the digits they are mistaken for.
func unambiguous(s string) string {
	return strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(s)
}

func decode(into []byte, what, text string) error {
	if want := crockford().EncodedLen(len(into)); len(text) != want {
		return fmt.Errorf("the %s has %d characters, want %d", what, len(text), want)
	}
	if _, err := crockford().Decode(into, []byte(unambiguous(text))); err != nil {
		return fmt.Errorf("the %s holds a character that no token has", what)
	}
	return nil
}
