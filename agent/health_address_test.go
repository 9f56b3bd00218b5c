package agent

import (
	"strings"
	"testing"
)

func TestWhereTheHealthDoorIs(t *testing.T) {
	for _, tc := range []struct {
		text      string
		addresses map[string]string
		want      string
	}{
		{"", map[string]string{"default": "10.0.0.1", "a": "10.1.0.1"}, "10.0.0.1:7175"},
		{"", map[string]string{"b": "10.2.0.1", "a": "fd00::1"}, "[fd00::1]:7175"},
		{"10.9.0.1:80", map[string]string{"default": "10.0.0.1"}, "10.9.0.1:80"},
		{"", nil, "--health IP:PORT"},
		{"n1:7175", nil, "want IP:PORT"},
		{"10.0.0.1", nil, "want IP:PORT"},
		{"10.0.0.1:0", nil, "want IP:PORT"},
	} {
		addr, err := healthAddress(tc.text, tc.addresses)
		got := addr.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tc.want) {
			t.Errorf("%q of %v: %s, want %s", tc.text, tc.addresses, got, tc.want)
		}
	}
}
