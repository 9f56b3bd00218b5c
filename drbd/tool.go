package drbd

import "context"

// A Runner runs one tool to its end and gives its standard output. A tool
// that refuses is an error with ExitCode() int and Stderr() []byte; a tool
// that is not installed is fs.ErrNotExist.
type Runner func(ctx context.Context, argv ...string) ([]byte, error)

// A Follower runs one tool and hands over its standard output line by line,
// without line ends, until the tool ends, line fails or ctx ends.
type Follower func(ctx context.Context, argv []string, line func([]byte) error) error

// A Tool builds the command lines of one version of DRBD and reads what they
// print. It holds no state.
type Tool struct {
	run Runner
	ver Version
}

// New makes a Tool for the version found by Detect.
func New(run Runner, v Version) *Tool { return &Tool{run: run, ver: v} }

// Version gives the version the Tool was made for.
func (t *Tool) Version() Version { return t.ver }

// A Ref names one resource to the tools.
type Ref struct {
	Name   string
	File   string  // its .res file, given to drbdadm as the only one: -c File
	Minors []Minor // its devices on this node; the index is the volume's number
	// Alone says that the file names no other host. DRBD 8.4's drbdadm can
	// neither up nor adjust that ("Missing section 'on <PEER>'").
	Alone bool
}

// A MetaDev is a backing disk with internal metadata, as drbdmeta sees it.
type MetaDev struct {
	Minor Minor  // drbdmeta refuses while this minor is attached
	Disk  string // block device that holds data and metadata
}

// do runs one command for its effect.
func (t *Tool) do(ctx context.Context, argv ...string) error {
	_, err := t.out(ctx, argv...)
	return err
}

// out runs one command for what it prints.
func (t *Tool) out(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := t.run(ctx, argv...)
	if err != nil {
		return out, failure(argv, err)
	}
	return out, nil
}

// adm runs drbdadm with the resource's own file.
func (t *Tool) adm(ctx context.Context, r Ref, verb ...string) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return t.out(ctx, append([]string{"drbdadm", "-c", r.File}, verb...)...)
}

func (r Ref) check() error {
	if err := checkName(r.Name); err != nil {
		return err
	}
	return checkPath("configuration file", r.File)
}
