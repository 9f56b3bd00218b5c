package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) snapshotSave() *cobra.Command {
	return &cobra.Command{
		Use: "save FILE", Short: "Save the state; the file holds keys, and only you may read it", Args: args("FILE"),
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, args []string) error {
			size, err := a.saveSnapshot(ctx, args[0])
			if err != nil {
				return err
			}
			a.note("It holds the cluster's keys: keep it where only you can read it.")
			if a.flags.quiet {
				return nil
			}
			_, err = fmt.Fprintf(a.env.Stdout, "saved %s to %s\n", humanSize(size), args[0])
			return err
		}),
	}
}

// saveSnapshot writes beside the file first, so that a broken stream leaves no half snapshot under its name.
func (a *app) saveSnapshot(ctx context.Context, path string) (size int64, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return 0, usage("%s: there is something of that name", path)
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".rvol-snapshot-*") // 0600
	if err != nil {
		return 0, failed("save %s: %s", path, err)
	}
	defer func() { err = errors.Join(err, dropPart(part, err)) }()
	stream, err := adminv1.NewClusterClient(a.client).SaveSnapshot(ctx, &adminv1.SaveSnapshotRequest{})
	if err != nil {
		return 0, err
	}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		n, err := part.Write(chunk.GetData())
		if err != nil {
			return 0, failed("save %s: %s", path, err)
		}
		size += int64(n)
	}
	if err := part.Sync(); err != nil {
		return 0, failed("save %s: %s", path, err)
	}
	if err := os.Link(part.Name(), path); err != nil { // unlike rename it replaces nothing
		return 0, failed("save %s: %s", path, err)
	}
	return size, nil
}

func dropPart(part *os.File, why error) error {
	if err := part.Close(); err != nil && why == nil {
		return failed("save %s: %s", part.Name(), err)
	}
	return os.Remove(part.Name())
}
