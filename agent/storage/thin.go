package storage

import (
	"context"

	"rvol/lvm"
)

// NewThin returns a backend of thin volumes in the pool of c.
func NewThin(c Config) Backend {
	create := func(ctx context.Context, s lvm.LVSpec) error { return c.Tool.ThinCreate(ctx, c.Pool, s) }
	return &volumes{Config: c, create: create}
}
