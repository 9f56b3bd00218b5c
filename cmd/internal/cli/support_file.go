package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rvol/cmd/internal/version"
	adminv1 "rvol/proto/admin/v1"
)

// maxBundled bounds one file of a bundle, in bytes.
const maxBundled = 128 << 20

const supportReadme = `This is a support bundle of rvol.

manifest.json   what is in it, and what is missing and why
coordinator/    the coordinator that answered: who asked and when, how it is set, its metrics
cluster/        the coordinators as they see each other, whether the state is sound, what happened
state/          what was decided: one object in each line
nodes/NAME/     what the agent of a node gathered: logs, what DRBD and LVM say, files, what it knows

The logs of a coordinator are with the node on whose machine it runs; of one that runs where there is no agent,
add the output of: journalctl -u rvol-coordinator

Secrets were taken out where they were found: [removed] stands in their place. Names of nodes and volumes, addresses,
labels, and the names of properties are in it.
`

// bundle writes the archive.
type bundle struct {
	zip      *gzip.Writer
	tar      *tar.Writer
	folder   string
	manifest manifest
}

// manifest lists what is in a bundle, and what is not.
type manifest struct {
	Made    time.Time        `json:"made" yaml:"made"`
	Command string           `json:"command" yaml:"command"` // version of the command that wrote it
	User    string           `json:"user" yaml:"user"`
	Host    string           `json:"host" yaml:"host"`
	Broken  string           `json:"broken" yaml:"broken"` // why it ended early; empty: it did not
	Files   []manifestFile   `json:"files" yaml:"files"`
	Missing []manifestAbsent `json:"missing" yaml:"missing"`
}

type manifestFile struct {
	Name string `json:"name" yaml:"name"`
	Size int    `json:"size" yaml:"size"`
}

type manifestAbsent struct {
	Name string `json:"name" yaml:"name"` // a file, or the folder of a node
	Node string `json:"node" yaml:"node"`
	Why  string `json:"why" yaml:"why"`
}

func newBundle(w io.Writer, now time.Time, user string) *bundle {
	b := &bundle{zip: gzip.NewWriter(w), folder: "rvol-support-" + now.UTC().Format("20060102-150405")}
	b.tar = tar.NewWriter(b.zip)
	host, _ := os.Hostname() // nothing to tell, then
	b.manifest = manifest{
		Made: now.UTC(), Command: version.String(), User: user, Host: host, Files: []manifestFile{}, Missing: []manifestAbsent{},
	}
	return b
}

// add puts one file in. Its name comes from elsewhere: it may not lead out of the folder.
func (b *bundle) add(p *adminv1.BundlePart, data []byte) error {
	if p.GetMissing() != "" {
		b.manifest.Missing = append(b.manifest.Missing, manifestAbsent{p.GetFile(), p.GetNode(), p.GetMissing()})
	}
	if len(data) == 0 && p.GetMissing() != "" {
		return nil
	}
	if !filepath.IsLocal(p.GetFile()) {
		return failed("the bundle holds a file %q, which is no name for one", p.GetFile())
	}
	b.manifest.Files = append(b.manifest.Files, manifestFile{p.GetFile(), len(data)})
	return b.put(p.GetFile(), data)
}

func (b *bundle) put(name string, data []byte) error {
	err := b.tar.WriteHeader(&tar.Header{
		Name: b.folder + "/" + name, Mode: 0o600, Size: int64(len(data)), ModTime: b.manifest.Made, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
	})
	if err != nil {
		return err
	}
	_, err = b.tar.Write(data)
	return err
}

// close ends the archive with the manifest.
func (b *bundle) close(broken error) error {
	if broken != nil {
		b.manifest.Broken = plain(broken)
	}
	slices.SortFunc(b.manifest.Files, func(x, y manifestFile) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(b.manifest.Missing, func(x, y manifestAbsent) int { return strings.Compare(x.Name, y.Name) })
	var list bytes.Buffer
	return errors.Join(
		writeJSON(&list, b.manifest), b.put("manifest.json", list.Bytes()), b.put("README.txt", []byte(supportReadme)),
		b.tar.Close(), b.zip.Close(),
	)
}
