package drbd

import (
	"fmt"
	"io"
	"log/slog"
)

// A Secret is the shared secret of a resource. It prints as ***.
type Secret string

const hidden = "***"

// Format prints *** for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue logs as ***.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText encodes as ***.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
