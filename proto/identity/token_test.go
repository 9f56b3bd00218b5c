package identity

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const crockfordLetters = "0123456789abcdefghjkmnpqrstvwxyz"

func newToken(t *testing.T, kind TokenKind) Token {
	t.Helper()
	token, err := NewToken(kind, Hash{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestTokenSurvivesItsText(t *testing.T) {
	for _, kind := range []TokenKind{NodeToken, CoordinatorToken} {
		want := newToken(t, kind)
		text := want.Reveal()
		for name, form := range map[string]string{
			"as it is":             text,
			"in capitals":          strings.ToUpper(text),
			"with space around it": "  " + text + "\n",
			"with letters that look like digits": "rvol1." + string(kind) + "." + strings.NewReplacer("0", "O", "1", "l").
				Replace(strings.SplitN(text, ".", 3)[2]),
		} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				got, err := ParseToken(form)
				if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}

func TestTokenKindsAndRoles(t *testing.T) {
	got := map[TokenKind]Role{NodeToken: NodeToken.Role(), CoordinatorToken: CoordinatorToken.Role(), "admin": TokenKind("admin").Role()}
	if diff := cmp.Diff(map[TokenKind]Role{"node": Agent, "coordinator": Server, "admin": ""}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := NewToken("admin", Hash{}); !errors.Is(err, ErrInvalidToken) {
		t.Errorf("a token of kind admin: %v", err)
	}
}

func TestTokensDiffer(t *testing.T) {
	a, b := newToken(t, NodeToken), newToken(t, NodeToken)
	if a.ID == b.ID || a.secret == b.secret || a.Hash() == b.Hash() {
		t.Error("two tokens share an id or a secret")
	}
}

func TestParseTokenSaysWhatIsWrong(t *testing.T) {
	text := newToken(t, NodeToken).Reveal()
	parts := strings.Split(text, ".")
	with := func(i int, part string) string {
		changed := slices.Clone(parts)
		changed[i] = part
		return strings.Join(changed, ".")
	}
	for name, tc := range map[string]struct{ text, says string }{
		"nothing":                 {"", `does not begin with "rvol1."`},
		"something else":          {"K10abc::server:def", `does not begin with "rvol1."`},
		"a later format":          {with(0, "rvol2"), `does not begin with "rvol1."`},
		"half of it":              {text[:len(text)/2], "was it copied whole?"},
		"two of them":             {text + "." + text, "was it copied whole?"},
		"an unknown kind":         {with(1, "admin"), `unknown kind "admin"`},
		"another kind":            {with(1, "coordinator"), "checksum"},
		"a short id":              {with(2, "abc"), "the id has 3 characters, want 8"},
		"a short secret":          {with(3, parts[3][1:]), "the secret has 51 characters, want 52"},
		"a long hash":             {with(4, parts[4]+"0"), "the CA hash has 53 characters, want 52"},
		"a letter no token has":   {with(3, "u"+parts[3][1:]), "the secret holds a character that no token has"},
		"a line break in it":      {with(3, parts[3][:20]+"\n"+parts[3][21:]), "checksum"},
		"a checksum cut short":    {text[:len(text)-1], "checksum"},
		"a checksum of something": {with(5, "0000000"), "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseToken(tc.text)
			if !errors.Is(err, ErrInvalidToken) || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("got %v, want %q", err, tc.says)
			}
			if strings.Contains(err.Error(), parts[3]) {
				t.Errorf("the secret is in the error: %v", err)
			}
		})
	}
}

func TestParseTokenTellsTypos(t *testing.T) {
	text := newToken(t, CoordinatorToken).Reveal()
	begin := len("rvol1.coordinator.")
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(begin, len(text)-1).Draw(t, "place")
		changed := []byte(text)
		switch rapid.SampledFrom([]string{"wrong", "missing", "doubled", "swapped"}).Draw(t, "typo") {
		case "wrong":
			changed[i] = rapid.SampledFrom([]byte(crockfordLetters)).Draw(t, "letter")
		case "missing":
			changed = append(changed[:i], changed[i+1:]...)
		case "doubled":
			changed = append(changed[:i+1], text[i:]...)
		case "swapped":
			changed[i], changed[i-1] = changed[i-1], changed[i]
		}
		if string(changed) == text {
			return
		}
		if _, err := ParseToken(string(changed)); err == nil {
			t.Fatalf("%s was taken for %s", changed, text)
		}
	})
}

func FuzzParseToken(f *testing.F) {
	good, err := NewToken(NodeToken, Hash{9})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.Reveal())
	f.Add("rvol1.node.00000000." + strings.Repeat("0", 52) + "." + strings.Repeat("0", 52) + ".0000000")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			return
		}
		again, err := ParseToken(token.Reveal())
		if err != nil || again != token {
			t.Errorf("%q came back as %s, %v", text, again, err)
		}
	})
}

func TestRecordBoundsTheTTL(t *testing.T) {
	token := newToken(t, NodeToken)
	for name, tc := range map[string]struct {
		name string
		ttl  time.Duration
		want time.Duration // 0: refused
	}{
		"15 minutes by default":         {ttl: 0, want: 15 * time.Minute},
		"as long as asked":              {ttl: time.Hour, want: time.Hour, name: "node-1"},
		"24 hours at most":              {ttl: 24 * time.Hour, want: 24 * time.Hour},
		"more than 24 hours is refused": {ttl: 24*time.Hour + 1},
		"less than nothing is refused":  {ttl: -time.Minute},
		"a bad name is refused":         {ttl: time.Hour, name: "Node 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := token.Record(tc.name, today(), tc.ttl)
			if tc.want == 0 {
				if !errors.Is(err, ErrInvalidToken) {
					t.Errorf("got %v, want ErrInvalidToken", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := TokenRecord{ID: token.ID, Kind: NodeToken, Hash: token.Hash(), Name: tc.name, Expires: today().Add(tc.want)}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckOfARedemption(t *testing.T) {
	token, other := newToken(t, NodeToken), newToken(t, NodeToken)
	first, second := Fingerprint{1}, Fingerprint{2}
	record, err := token.Record("node-1", today(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	free := record
	free.Name = ""
	used := record
	used.RedeemedBy = first
	asCoordinator := token
	asCoordinator.Kind = CoordinatorToken
	otherID := token
	otherID.ID = other.ID
	otherSecret := other
	otherSecret.ID = token.ID
	for name, tc := range map[string]struct {
		record TokenRecord
		by     Redemption
		after  time.Duration
		want   error
	}{
		"the right token is good":                    {record, Redemption{token, "node-1", first}, 0, nil},
		"it is good until it expires":                {record, Redemption{token, "node-1", first}, time.Hour - 1, nil},
		"it is not when it expires":                  {record, Redemption{token, "node-1", first}, time.Hour, ErrTokenExpired},
		"one without a name is good for any":         {free, Redemption{token, "node-2", first}, 0, nil},
		"one with a name is good for that only":      {record, Redemption{token, "node-2", first}, 0, ErrTokenName},
		"the machine that used it may use it again":  {used, Redemption{token, "node-1", first}, 0, nil},
		"but not when it has expired":                {used, Redemption{token, "node-1", first}, time.Hour, ErrTokenExpired},
		"another machine may not":                    {used, Redemption{token, "node-1", second}, 0, ErrTokenUsed},
		"another token's secret is wrong":            {record, Redemption{otherSecret, "node-1", first}, 0, ErrWrongToken},
		"another token's id is wrong":                {record, Redemption{otherID, "node-1", first}, 0, ErrWrongToken},
		"another kind is wrong":                      {record, Redemption{asCoordinator, "node-1", first}, 0, ErrWrongToken},
		"who lacks the secret learns nothing of use": {used, Redemption{otherSecret, "node-2", second}, 2 * time.Hour, ErrWrongToken},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.record.Check(tc.by, today().Add(tc.after)); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
