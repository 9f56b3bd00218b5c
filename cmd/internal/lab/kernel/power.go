package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"rvol/cmd/internal/lab"
	"rvol/cmd/internal/lab/uml"
	"rvol/cmd/internal/lab/uml/hub"
)

// Kill implements lab.World.
func (w *World) Kill(_ context.Context, name string) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	if _, err := n.running(); err != nil {
		return err
	}
	return n.kill()
}

// Start implements lab.World.
func (w *World) Start(ctx context.Context, name string) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	_, err = n.start(ctx)
	return err
}

// Stop implements lab.World.
func (w *World) Stop(ctx context.Context, name string) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	return n.stop(ctx)
}

// Disturb implements lab.World.
func (w *World) Disturb(_ context.Context, f lab.Fault) error {
	if err := w.checkFault(f); err != nil {
		return err
	}
	peers := []string{f.B}
	if f.B == "" {
		peers = w.others(f.A)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, h := range w.hubs {
		if f.Network != 0 && f.Network != i+1 {
			continue
		}
		for _, peer := range peers {
			if err := disturb(h, f, peer); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *World) checkFault(f lab.Fault) error {
	if f.Network < 0 || f.Network > w.cfg.Networks {
		return fmt.Errorf("disturb network %d: this lab has %d", f.Network, w.cfg.Networks)
	}
	if f.Drop < 0 || f.Drop > 100 || f.Delay < 0 {
		return fmt.Errorf("disturb the link of %s: %d %% and %v: from 0 to 100, and not negative", f.A, f.Drop, f.Delay)
	}
	_, err := w.node(f.A)
	return err
}

func disturb(h *hub.Hub, f lab.Fault, peer string) error {
	l := hub.Link{Cut: f.Cut, Drop: f.Drop, Delay: f.Delay}
	if err := h.Set(f.A, peer, l); err != nil || f.OneWay {
		return err
	}
	return h.Set(peer, f.A, l)
}

func (w *World) others(name string) []string {
	var all []string
	for i := 1; i <= w.cfg.Nodes; i++ {
		if peer := lab.NodeName(i); peer != name {
			all = append(all, peer)
		}
	}
	return all
}

// Heal implements lab.World.
func (w *World) Heal(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.hubs {
		h.Heal()
	}
	return nil
}

// Logs implements lab.World. The journal lives in the node's memory: of a node that is off only the console is left.
func (w *World) Logs(ctx context.Context, name string, out io.Writer) error {
	n, err := w.node(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "--- console of %s\n", name) // the copy below says it
	f, err := os.Open(uml.ConsoleFile(n.config().Dir))
	if err != nil {
		return fmt.Errorf("read the console of %s: %w", name, err)
	}
	defer f.Close()
	if _, err := io.Copy(out, f); err != nil {
		return err
	}
	m, err := n.running()
	if errors.Is(err, uml.ErrOff) {
		fmt.Fprintf(out, "--- %s is off: no journal\n", name)
		return nil
	}
	text, err := output(ctx, m, "journalctl", "--no-pager", "-o", "short-precise", "-u", "rvol*")
	if err != nil {
		return fmt.Errorf("read the journal of %s: %w", name, err)
	}
	_, err = fmt.Fprintf(out, "--- journal of the rvol units of %s\n%s\n", name, text)
	return err
}
