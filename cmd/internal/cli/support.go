package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	adminv1 "rvol/proto/admin/v1"
)

func (a *app) supportCommand() *cobra.Command {
	r, file, patience := &adminv1.BundleRequest{}, "", time.Minute
	c := &cobra.Command{
		Use: "support-bundle", Short: "Collect logs, states and tool outputs of all nodes in one file, without secrets",
		Long: "Collect logs, states and tool outputs of all nodes in one file, without secrets.\n\n" +
			"The leader writes down the state and asks every agent; without a leader there is the state of one coordinator. A node that does not answer is named, and does not stop the rest. " +
			"Shared secrets, tokens, private keys and the values of properties are taken out on the way; manifest.json in the file lists what is in it and what is missing.",
		Example: "  rvol support-bundle -f /tmp/rvol.tar.gz",
		Args:    args(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.run(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if patience < time.Second || patience > 10*time.Minute {
				return usage("--node-timeout %s: want 1s to 10m", patience)
			}
			r.NodeSeconds = int64(patience / time.Second)
			if file == "" {
				file = "rvol-support-" + a.env.Now().UTC().Format("20060102-150405") + ".tar.gz"
			}
			return a.saveBundle(ctx, r, file)
		}),
	}
	f := c.Flags()
	f.StringVarP(&file, "file", "f", "", "write to this `FILE`, which must not be there (default rvol-support-TIME.tar.gz)")
	f.StringSliceVar(&r.Nodes, "node", nil, "ask only these `NODES`")
	f.DurationVar(&patience, "node-timeout", patience, "`TIME` that each node may take")
	complete(c, "node", a.completeNames("node"))
	complete(c, "node-timeout", cobra.NoFileCompletions)
	return c
}

// saveBundle writes beside the file first. What came before a coordinator went away is kept: it may be all there is.
func (a *app) saveBundle(ctx context.Context, r *adminv1.BundleRequest, path string) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return usage("%s: there is something of that name", path)
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".rvol-support-*") // 0600
	if err != nil {
		return failed("save %s: %s", path, err)
	}
	defer func() { err = errors.Join(err, dropPart(part, err)) }()
	stream, err := adminv1.NewSupportClient(a.client).Bundle(ctx, r)
	if err != nil {
		return err
	}
	b := newBundle(part, a.env.Now(), a.env.Getenv("USER"))
	broken := a.receiveBundle(stream, b)
	if broken != nil && len(b.manifest.Files) == 0 {
		return broken
	}
	if err := b.close(broken); err != nil {
		return failed("save %s: %s", path, err)
	}
	if err := errors.Join(part.Sync(), os.Link(part.Name(), path)); err != nil { // unlike rename it replaces nothing
		return failed("save %s: %s", path, err)
	}
	if broken != nil {
		return failed("%s is not complete: %s", path, plain(broken))
	}
	if a.flags.structured() {
		return a.write(b.manifest)
	}
	_, err = fmt.Fprintln(a.env.Stdout, path)
	return err
}

// receiveBundle puts file after file into the bundle, and says what is missing.
func (a *app) receiveBundle(stream interface {
	Recv() (*adminv1.BundlePart, error)
}, b *bundle,
) error {
	p := a.newProgress()
	defer p.end()
	files := map[string][]byte{} // that are not complete; nodes may send at the same time
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		files[m.GetFile()] = append(files[m.GetFile()], m.GetData()...)
		if len(files[m.GetFile()]) > maxBundled {
			return failed("%s is longer than %s", m.GetFile(), humanSize(maxBundled))
		}
		if !m.GetFileEnd() {
			continue
		}
		if m.GetMissing() != "" {
			p.end()
			a.note("%s: %s", m.GetFile(), m.GetMissing())
		}
		if err := b.add(m, files[m.GetFile()]); err != nil {
			return err
		}
		delete(files, m.GetFile())
		if p.live {
			p.draw(fmt.Sprintf("%4s %d files, %s", p.elapsed(), len(b.manifest.Files), strings.SplitN(m.GetFile(), "/", 3)[0]+" "+m.GetNode()))
		}
	}
}
