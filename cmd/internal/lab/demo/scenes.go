package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// replica is one, as rvol shows it.
type replica struct {
	Node string
	Disk string
	Sync *float64 `json:"sync_percent"`
}

func (r replica) String() string {
	text := fmt.Sprintf("the replica on %s is %s", r.Node, r.Disk)
	if r.Sync != nil {
		text += fmt.Sprintf(", %.0f %% in sync", *r.Sync)
	}
	return text
}

func (s *Story) replicas(ctx context.Context) ([]replica, error) {
	var list []replica
	return list, s.Client.Read(ctx, &list, "replica", "list", "--volume", volume)
}

// places finds out which nodes hold the volume; n1 has to be one of them.
func (s *Story) places(ctx context.Context) error {
	list, err := s.replicas(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Disk != "UpToDate" {
			return fmt.Errorf("%s, not UpToDate", r)
		}
		if s.first = s.Nodes[0]; r.Node != s.first {
			s.second = r.Node
		}
	}
	if len(list) != 2 || s.second == "" {
		return fmt.Errorf("the volume has %d replicas, none of them or all on %s: want 2, one there", len(list), s.first)
	}
	return nil
}

func (s *Story) use(ctx context.Context) error {
	err := s.Narrator.Timed("attached on "+s.first, func() error {
		return s.all(ctx, fmt.Sprintf("volume attach %s %s --wait", volume, s.first))
	})
	if err != nil {
		return err
	}
	return s.Narrator.Timed(s.user.filled(), func() (err error) {
		s.checksum, err = s.user.fill(ctx, s.first, volume)
		return err
	})
}

func (s *Story) failOver(ctx context.Context) error {
	if err := s.lead(ctx); err != nil {
		return err
	}
	lost := time.Now()
	s.Narrator.Command("", "rvol-lab kill "+s.first)
	if err := s.World.Kill(ctx, s.first); err != nil {
		return err
	}
	if err := s.Narrator.Timed("another coordinator leads", func() error { return s.await(ctx, time.Minute, func() (string, error) { return s.headless(ctx) }) }); err != nil {
		return err
	}
	if err := s.all(ctx, "cluster status"); err != nil {
		return err
	}
	err := s.Narrator.Timed(s.first+" is NotReady", func() error {
		return s.await(ctx, time.Minute, func() (string, error) { return s.unsettled(ctx) })
	})
	if err != nil {
		return err
	}
	if err := s.all(ctx, "node list"); err != nil {
		return err
	}
	err = s.Narrator.Timed("fenced, attached on "+s.second+", "+s.user.found(), func() error { return s.takeOver(ctx) })
	s.Narrator.Say("the volume is in use again %.1f s after the loss of power, which includes %s", time.Since(lost).Seconds(),
		"the time until the cluster was sure that the node is gone")
	return err
}

// lead makes the first node the leader of the coordinators.
func (s *Story) lead(ctx context.Context) error {
	leader, err := s.Leader(ctx)
	if err != nil || leader == s.first {
		return err
	}
	if err := s.all(ctx, "cluster transfer-leadership "+s.first); err != nil {
		return err
	}
	return s.await(ctx, 30*time.Second, func() (string, error) {
		leader, err := s.Leader(ctx)
		if err != nil || leader == s.first {
			return "", err
		}
		return "leader: " + leader, nil
	})
}

func (s *Story) headless(ctx context.Context) (string, error) {
	leader, err := s.Leader(ctx)
	switch {
	case err != nil:
		return "", err
	case leader == "" || leader == s.first:
		return "no new leader yet", nil
	}
	return "", nil
}

// unsettled says what the new leader does not know yet: that the dead node is dead, and that the others are not.
func (s *Story) unsettled(ctx context.Context) (string, error) {
	for _, name := range s.Nodes {
		n, err := s.Node(ctx, name)
		switch {
		case err != nil:
			return "", err
		case n.Ready && name == s.first:
			return name + " counts as Ready until its heartbeats have been missing long enough", nil
		case !n.Ready && name != s.first:
			return name + " has not found the new leader yet", nil
		}
	}
	return "", nil
}

func (s *Story) takeOver(ctx context.Context) error {
	s.Narrator.Say("%s was using the volume, and nobody here can tell a dead node from one out of reach: an operator has to", s.first)
	if err := s.all(ctx, fmt.Sprintf("node fence %s --yes-i-mean %s", s.first, s.first),
		fmt.Sprintf("volume attach %s %s --wait", volume, s.second)); err != nil {
		return err
	}
	sum, err := s.user.sum(ctx, s.second, volume)
	if err != nil {
		return err
	}
	if sum != s.checksum {
		return fmt.Errorf("%s reads %s, %s had written %s", s.second, sum, s.first, s.checksum)
	}
	s.Narrator.Say("the same checksum: what %s was told is written, %s has", s.first, s.second)
	return nil
}

func (s *Story) comeBack(ctx context.Context) error {
	s.Narrator.Command("", "rvol-lab start "+s.first)
	if err := s.Narrator.Timed(s.first+" booted", func() error { return s.World.Start(ctx, s.first) }); err != nil {
		return err
	}
	err := s.Narrator.Timed(s.first+" resynced, UpToDate on both nodes", func() error {
		return s.await(ctx, 2*time.Minute, func() (string, error) { return s.behind(ctx) })
	})
	if err != nil {
		return err
	}
	return s.all(ctx, "node list", "replica list --volume "+volume)
}

// behind says which replicas are not UpToDate yet, and whether the fence is still up.
func (s *Story) behind(ctx context.Context) (string, error) {
	list, err := s.replicas(ctx)
	if err != nil {
		return "", err
	}
	var late []string
	for _, r := range list {
		if r.Disk != "UpToDate" {
			late = append(late, r.String())
		}
	}
	n, err := s.Node(ctx, s.first)
	if n.Fenced {
		late = append(late, s.first+" is fenced")
	}
	if !n.Ready {
		late = append(late, s.first+" is not Ready")
	}
	return strings.Join(late, ", "), err
}

func (s *Story) remove(ctx context.Context) error {
	err := s.Narrator.Timed("unmounted, detached, deleted", func() error {
		if err := s.user.leave(ctx, s.second, volume); err != nil {
			return err
		}
		return s.all(ctx, fmt.Sprintf("volume detach %s %s --wait", volume, s.second), fmt.Sprintf("volume delete %s --yes --wait", volume))
	})
	if err != nil {
		return err
	}
	if err := s.all(ctx, "lvg list"); err != nil {
		return err
	}
	var found []error
	for _, n := range s.Nodes {
		found = append(found, s.traces(ctx, n))
	}
	return errors.Join(found...)
}

// traces looks for what must not be left of the volume.
func (s *Story) traces(ctx context.Context, node string) error {
	left, err := s.user.traces(ctx, node, volume)
	if err != nil {
		return err
	}
	reserved, err := s.reservations(ctx, node)
	if left = slices.Concat(left, reserved); len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("left on %s: %s", node, strings.Join(left, "; ")))
	}
	return err
}

func (s *Story) reservations(ctx context.Context, node string) (left []string, err error) {
	var groups []struct {
		Meta   struct{ Name string }
		Spaces []struct {
			Reserved     int64
			Reservations []struct{ Owner string }
		}
	}
	err = s.Client.Read(ctx, &groups, "lvg", "list", "--node", node)
	for _, g := range groups {
		for _, space := range g.Spaces {
			if space.Reserved != 0 || len(space.Reservations) != 0 {
				left = append(left, fmt.Sprintf("%d bytes reserved in %s", space.Reserved, g.Meta.Name))
			}
		}
	}
	return left, err
}
