package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"rvol/cmd/internal/lab/deploy"
)

const (
	volume = "db-1"
	class  = "fast"
	size   = "256MiB"
)

// Story is the main job, told on a cluster whose machines run.
type Story struct {
	*deploy.Cluster
	Narrator       *Narrator
	Stdout, Stderr io.Writer // of rvol: a terminal, if there is one
	user           user
	up             func(context.Context) error // nil: nothing to do

	first, second string // nodes that hold the volume: where it is used, and where it goes on
	checksum      string
}

// New prepares the story on nodes with real kernels, on which rvol is still to be laid.
func New(c *deploy.Cluster, n *Narrator, stdout, stderr io.Writer) *Story {
	return &Story{Cluster: c, Narrator: n, Stdout: stdout, Stderr: stderr, user: files{c}, up: c.Up}
}

// NewSimulated prepares the story on simulated nodes, which run rvol already.
func NewSimulated(c *deploy.Cluster, n *Narrator, stdout, stderr io.Writer) *Story {
	return &Story{Cluster: c, Narrator: n, Stdout: stdout, Stderr: stderr, user: blocks{c}}
}

// Tell tells it, and stops where something is not as it should be.
func (s *Story) Tell(ctx context.Context) error {
	for _, chapter := range []struct {
		title string
		tell  func(context.Context) error
	}{
		{"The cluster forms", s.form},
		{"Volume groups are offered, a class and a volume are made", s.create},
		{"The volume is used on n1", s.use},
		{"n1, which leads the coordinators, loses power; its volume goes on elsewhere", s.failOver},
		{"n1 comes back", s.comeBack},
		{"The volume is deleted, without a trace", s.remove},
	} {
		s.Narrator.Chapter(chapter.title)
		if err := chapter.tell(ctx); err != nil {
			return fmt.Errorf("%s: %w", strings.ToLower(chapter.title[:1])+chapter.title[1:], err)
		}
	}
	return nil
}

// rvol shows a command and runs it, with its output for people to see.
func (s *Story) rvol(ctx context.Context, args ...string) error {
	s.Narrator.Command("", "rvol "+strings.Join(args, " "))
	code, err := s.Client.Run(ctx, deploy.Output{Stdout: s.Stdout, Stderr: s.Stderr}, args...)
	if err == nil && code != 0 {
		err = fmt.Errorf("rvol %s: exit status %d", strings.Join(args, " "), code)
	}
	return err
}

// all runs commands one after the other.
func (s *Story) all(ctx context.Context, lines ...string) error {
	for _, l := range lines {
		if err := s.rvol(ctx, strings.Fields(l)...); err != nil {
			return err
		}
	}
	return nil
}

// await asks until it is so, and says what it is that it waits for whenever that changes.
func (s *Story) await(ctx context.Context, limit time.Duration, look func() (waiting string, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not so after %v", limit))
	defer cancel()
	last := ""
	for {
		waiting, err := look()
		if err != nil {
			waiting = err.Error()
		}
		if waiting == "" {
			return nil
		}
		if waiting != last {
			s.Narrator.Say("%s", waiting)
			last = waiting
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: last seen: %s", context.Cause(ctx), last)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// form brings the cluster up on the machines.
func (s *Story) form(ctx context.Context) error {
	if s.up != nil {
		if err := s.Narrator.Timed("programs and units laid, joined, started", func() error { return s.up(ctx) }); err != nil {
			return err
		}
	}
	err := s.Narrator.Timed("3 Raft members vote, 3 nodes are Ready", func() error {
		return s.await(ctx, 90*time.Second, func() (string, error) { return s.Forming(ctx) })
	})
	if err != nil {
		return err
	}
	return s.all(ctx, "cluster members", "node list", "node show n1")
}

func (s *Story) create(ctx context.Context) error {
	for _, n := range s.Nodes {
		if err := s.all(ctx,
			fmt.Sprintf("lvg create %s %s --wait", n, deploy.ThickVG),
			fmt.Sprintf("lvg create %s %s --thin-pool %s --wait", n, deploy.ThinVG, deploy.ThinPool)); err != nil {
			return err
		}
	}
	if err := s.all(ctx, "lvg list",
		fmt.Sprintf("class create %s --ftt 1 --gmdr 0 --type LVMThin --vg %s --thin-pool %s --drbd resync-rate=100M --drbd c-min-rate=100M", class, deploy.ThinVG, deploy.ThinPool)); err != nil {
		return err
	}
	err := s.Narrator.Timed("volume formed, UpToDate on both nodes", func() error {
		return s.all(ctx, fmt.Sprintf("volume create %s --size %s --class %s --attach-to n1 --wait", volume, size, class))
	})
	if err != nil {
		return err
	}
	if err := s.all(ctx, "replica list --volume "+volume); err != nil {
		return err
	}
	return s.places(ctx)
}

// LookAround says what one can do with a cluster that was left running; lab is the command that drives its machines.
func LookAround(lab string, c *deploy.Cluster) string {
	return fmt.Sprintf(`the cluster runs on. To look around:
     export RVOL_CONFIG=%s
     %s node list
     %s exec n1 -- drbdsetup status
     %s down    ends it`, c.Client.Config, c.Client.Program, lab, lab)
}
