package host

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells systemd that the service is up. Without systemd it does nothing,
// as do Status, Stopping and Watchdog.
func Ready(status string) error { return notify(daemon.SdNotifyReady + "\nSTATUS=" + status) }

// Status sets the line that `systemctl status` shows.
func Status(text string) error { return notify("STATUS=" + text) }

// Stopping tells systemd that the service is on its way out.
func Stopping() error { return notify(daemon.SdNotifyStopping) }

func notify(state string) error {
	if _, err := daemon.SdNotify(false, state); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

// Watchdog feeds systemd's watchdog at half its interval for as long as alive
// says so, until ctx ends. Not feeding it gets the service restarted.
func Watchdog(ctx context.Context, alive func() bool) error {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read the watchdog's interval: %w", err)
	}
	if interval == 0 {
		return nil
	}
	tick := time.NewTicker(interval / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if !alive() {
			continue
		}
		if err := notify(daemon.SdNotifyWatchdog); err != nil {
			return err
		}
	}
}
