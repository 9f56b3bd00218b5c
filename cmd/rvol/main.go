// Command rvol drives an rvol cluster from the command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"rvol/cmd/internal/browse"
	"rvol/cmd/internal/cli"
)

func main() {
	os.Exit(run())
}

// run lets the first signal end the command in order and a second one at once.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, cli.Env{Open: browse.Open}, os.Args[1:])
}
