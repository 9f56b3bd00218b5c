package consensus

import (
	"context"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// newLogger lets Raft write to log.
func newLogger(log *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Output: io.Discard, Level: hclog.Off})
	l.RegisterSink(sink{log})
	return l
}

type sink struct{ log *slog.Logger }

// Accept takes one line from Raft.
func (s sink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	levels := map[hclog.Level]slog.Level{hclog.Info: slog.LevelInfo, hclog.Warn: slog.LevelWarn, hclog.Error: slog.LevelError}
	to, ok := levels[level]
	if !ok {
		to = slog.LevelDebug
	}
	s.log.Log(context.Background(), to, msg, args...) //nolint:sloglint // the words are Raft's
}
