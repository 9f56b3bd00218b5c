package vagrant

import (
	"context"
	"errors"
	"fmt"

	"rvol/cmd/internal/lab"
)

// chain is one of the machines' firewall, for the faults of labs alone.
const chain = `iptables -n -L RVOL >/dev/null 2>&1 || iptables -N RVOL
iptables -C INPUT -j RVOL 2>/dev/null || iptables -I INPUT -j RVOL
`

// Disturb implements lab.World. A machine loses what the other one sends; the line by which it is told so is another network's.
func (w *World) Disturb(ctx context.Context, f lab.Fault) error {
	if f.Delay != 0 || f.Network > 1 {
		return errors.New("disturb a link: on Vagrant's machines it can be cut, or lose frames, and there is one network")
	}
	if f.Drop < 0 || f.Drop > 100 {
		return fmt.Errorf("disturb the link of %s: %d %%: from 0 to 100", f.A, f.Drop)
	}
	peers := []string{f.B}
	if f.B == "" {
		peers = nodes()
	}
	for _, peer := range peers {
		if peer == f.A {
			continue
		}
		if err := w.deaf(ctx, peer, f.A, f); err != nil {
			return err
		}
		if !f.OneWay {
			if err := w.deaf(ctx, f.A, peer, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// deaf makes a machine lose what another one sends, in place of an earlier fault of that direction.
func (w *World) deaf(ctx context.Context, node, to string, f lab.Fault) error {
	i, err := index(to)
	if err != nil {
		return err
	}
	script := chain + fmt.Sprintf("iptables -S RVOL | grep -- '-s %s/32 ' | sed 's/^-A/iptables -D/' | sh\n", Address(i))
	switch {
	case f.Cut:
		script += fmt.Sprintf("iptables -A RVOL -s %s -j DROP\n", Address(i))
	case f.Drop > 0:
		script += fmt.Sprintf("iptables -A RVOL -s %s -m statistic --mode random --probability %.2f -j DROP\n", Address(i), float64(f.Drop)/100)
	}
	return w.must(ctx, node, "sh", "-ec", script)
}

// Heal implements lab.World. A machine that is off has no faults.
func (w *World) Heal(ctx context.Context) error {
	s, err := w.Status(ctx)
	if err != nil {
		return err
	}
	for _, n := range s.Nodes {
		if n.State == "running" {
			err = errors.Join(err, w.must(ctx, n.Name, "sh", "-ec", chain+"iptables -F RVOL"))
		}
	}
	return err
}
