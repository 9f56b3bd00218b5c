package drbdtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rvol/drbd"
)

// drbdadm is -c FILE [-d] VERB RESOURCE[/VOLUME], or --version.
func (n *Node) drbdadm(ctx context.Context, args []string) (string, error) {
	if args[0] == "--version" {
		return n.versionText(), nil
	}
	if len(args) < 4 || args[0] != "-c" {
		return "", refuse(1, "no resources defined!")
	}
	file, rest := args[1], args[2:]
	dry := rest[0] == "-d"
	if dry {
		rest = rest[1:]
	}
	rest, extra := withoutOptions(rest)
	if len(rest) != 2 {
		return "", refuse(1, "drbdadm: wrong number of arguments")
	}
	c, err := n.configured(file, rest[1])
	if err != nil {
		return "", err
	}
	if rest[0] == "dump" {
		return c.text, nil
	}
	commands, err := n.plan(rest[0], c)
	if err != nil {
		return "", err
	}
	for i := range commands {
		commands[i] = append(commands[i], extra...)
	}
	if dry {
		return n.printed(commands), nil
	}
	return n.carryOut(ctx, rest[0], commands)
}

// withoutOptions takes out what drbdadm hands on to drbdsetup.
func withoutOptions(args []string) (rest, extra []string) {
	for _, a := range args {
		if strings.HasPrefix(a, "--") {
			extra = append(extra, a)
		} else {
			rest = append(rest, a)
		}
	}
	return rest, extra
}

// configured reads what a file says of a resource, or of RESOURCE/VOLUME.
func (n *Node) configured(file, what string) (*config, error) {
	name, volume, one := strings.Cut(what, "/")
	c, err := n.readConfig(file, name)
	if err == nil && one {
		c.volumes = slices.DeleteFunc(c.volumes, func(v confVolume) bool { return strconv.Itoa(v.number) != volume })
	}
	return c, err
}

func (n *Node) versionText() string {
	code := func(major, minor, patch int) string { return fmt.Sprintf("0x%02x%02x%02x", major, minor, patch) }
	v := n.version
	text := "DRBDADM_BUILDTAG=GIT-hash:\\ simulated\nDRBDADM_API_VERSION=2\n"
	if v.Loaded() {
		text += "DRBD_KERNEL_VERSION_CODE=" + code(v.Kernel.Major, v.Kernel.Minor, v.Kernel.Patch) + "\n"
	}
	return text + "DRBDADM_VERSION_CODE=" + code(v.Tools.Major, v.Tools.Minor, v.Tools.Patch) +
		"\nDRBDADM_VERSION=" + v.Tools.String() + "\n"
}

// plan lists the commands of a verb.
func (n *Node) plan(verb string, c *config) ([][]string, error) {
	r := n.resources[c.name]
	if n.version.Is84() && len(c.peers) == 0 && slices.Contains([]string{"up", "adjust", "connect"}, verb) {
		return nil, refuse(10, "in resource %s:\n\tMissing section 'on <PEER> { ... }'.", c.name)
	}
	switch verb {
	case "up":
		return n.planUp(c), nil
	case "adjust":
		return n.planAdjust(c, r), nil
	case "new-resource":
		return [][]string{n.newResourceCommand(c)}, nil
	}
	commands := append(n.planVolumes(verb, c), n.planPeers(verb, c)...)
	if commands == nil {
		return nil, refuse(1, "drbdadm: Unknown command '%s'", verb)
	}
	return commands, nil
}

// planVolumes lists the commands of a verb that is about volumes.
func (n *Node) planVolumes(verb string, c *config) [][]string {
	var commands [][]string
	for _, v := range c.volumes {
		switch verb {
		case "sh-new-minor":
			commands = append(commands, n.newMinorCommand(c, v))
		case "attach":
			commands = append(commands, n.attachCommands(c, v)...)
		}
	}
	return commands
}

// planPeers lists the commands of a verb that is about peers.
func (n *Node) planPeers(verb string, c *config) [][]string {
	var commands [][]string
	for _, p := range c.peers {
		switch verb {
		case "connect":
			commands = append(commands, n.connectCommand(c, p))
		case "disconnect":
			commands = append(commands, n.disconnectCommand(c, p))
		}
	}
	return commands
}

// setup makes a command line of drbdsetup.
func setup(verb string, opts []string, words ...string) []string {
	return append(append([]string{"drbdsetup", verb}, words...), opts...)
}

func options(m map[string]string) []string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, "--"+k+"="+m[k])
	}
	return all
}

func (n *Node) newResourceCommand(c *config) []string {
	if n.version.Is84() {
		return setup("new-resource", options(c.options), c.name)
	}
	return setup("new-resource", options(c.options), c.name, c.id.String())
}

func (n *Node) newMinorCommand(c *config, v confVolume) []string {
	cmd := setup("new-minor", nil, c.name, v.minor.String(), strconv.Itoa(v.number))
	if v.disk == "" {
		cmd = append(cmd, "--diskless")
	}
	return cmd
}

func (n *Node) attachCommands(c *config, v confVolume) [][]string {
	if v.disk == "" {
		return nil
	}
	format := "v09"
	if n.version.Is84() {
		format = "v08"
	}
	return [][]string{
		{"drbdmeta", v.minor.String(), format, v.disk, "internal", "apply-al"},
		setup("attach", options(c.disk), v.minor.String(), v.disk, v.disk, "internal"),
	}
}

func (n *Node) newPeerCommands(c *config, p confPeer) [][]string {
	if n.version.Is84() {
		return nil
	}
	commands := [][]string{setup("new-peer", append([]string{"--_name=" + p.name}, options(p.net)...), c.name, p.id.String())}
	for _, path := range p.paths {
		commands = append(commands, setup("new-path", nil, c.name, p.id.String(), path[0], path[1]))
	}
	return commands
}

func (n *Node) peerDeviceCommands(c *config, p confPeer) [][]string {
	var commands [][]string
	for _, volume := range slices.Sorted(maps.Keys(p.opts)) {
		if opts := p.opts[volume]; len(opts) > 0 {
			commands = append(commands, setup("peer-device-options", options(opts), c.name, p.id.String(), strconv.Itoa(volume)))
		}
	}
	return commands
}

func (n *Node) connectCommand(c *config, p confPeer) []string {
	if n.version.Is84() {
		return setup("connect", options(p.net), c.name, p.paths[0][0], p.paths[0][1])
	}
	return setup("connect", nil, c.name, p.id.String())
}

func (n *Node) disconnectCommand(c *config, p confPeer) []string {
	if n.version.Is84() {
		return setup("disconnect", nil, p.paths[0][0], p.paths[0][1])
	}
	return setup("disconnect", nil, c.name, p.id.String())
}

func (n *Node) planUp(c *config) [][]string {
	commands := [][]string{n.newResourceCommand(c)}
	for _, v := range c.volumes {
		commands = append(commands, n.newMinorCommand(c, v))
	}
	for _, p := range c.peers {
		commands = append(commands, n.newPeerCommands(c, p)...)
		commands = append(commands, n.peerDeviceCommands(c, p)...)
	}
	for _, v := range c.volumes {
		commands = append(commands, n.attachCommands(c, v)...)
	}
	for _, p := range c.peers {
		commands = append(commands, n.connectCommand(c, p))
	}
	return commands
}

// planAdjust compares what is up with the file.
func (n *Node) planAdjust(c *config, r *resource) [][]string {
	if r == nil {
		return n.planUp(c)
	}
	var commands [][]string
	for _, k := range r.connections() {
		if !slices.ContainsFunc(c.peers, func(p confPeer) bool { return p.id == k.id || n.version.Is84() }) {
			commands = append(commands, setup("del-peer", nil, r.name, k.id.String()))
		}
	}
	commands = append(commands, n.adjustVolumes(c, r)...)
	if !maps.Equal(c.options, r.opts) {
		commands = append(commands, setup("resource-options", options(c.options), r.name, "--set-defaults"))
	}
	for _, p := range c.peers {
		commands = append(commands, n.adjustPeer(c, p, r.conns[p.id])...)
	}
	return commands
}

func (n *Node) adjustVolumes(c *config, r *resource) [][]string {
	var commands [][]string
	for _, d := range r.devices() {
		if !slices.ContainsFunc(c.volumes, func(v confVolume) bool { return v.number == d.volume && v.minor == d.minor }) {
			if d.md != nil {
				commands = append(commands, setup("detach", nil, d.minor.String()))
			}
			commands = append(commands, setup("del-minor", nil, d.minor.String()))
		}
	}
	for _, v := range c.volumes {
		d := r.devs[v.number]
		switch {
		case d == nil || d.minor != v.minor:
			commands = append(commands, n.newMinorCommand(c, v))
			commands = append(commands, n.attachCommands(c, v)...)
		case d.md != nil && d.path != v.disk:
			commands = append(commands, setup("detach", nil, d.minor.String()))
			commands = append(commands, n.attachCommands(c, v)...)
		case d.md == nil:
			commands = append(commands, n.attachCommands(c, v)...)
		case !maps.Equal(c.disk, d.opts):
			commands = append(commands, setup("disk-options", options(c.disk), d.minor.String(), "--set-defaults"))
		}
	}
	return append(commands, r.released()...)
}

// released is what adjust would do to devices whose size is held: the file does not say so.
func (r *resource) released() [][]string {
	var commands [][]string
	for _, d := range r.devices() {
		if d.md != nil && d.held != 0 {
			commands = append(commands, setup("resize", nil, d.minor.String()), setup("check-resize", nil, d.minor.String()))
		}
	}
	return commands
}

func (n *Node) adjustPeer(c *config, p confPeer, k *conn) [][]string {
	switch {
	case k == nil:
		commands := append(n.newPeerCommands(c, p), n.peerDeviceCommands(c, p)...)
		return append(commands, n.connectCommand(c, p))
	case n.version.Is84():
		return n.adjustPeer84(c, p, k)
	}
	var commands [][]string
	if !maps.Equal(k.net, p.net) {
		commands = append(commands, setup("net-options", options(p.net), c.name, p.id.String(), "--set-defaults"))
	}
	commands = append(commands, adjustPaths(c, p, k)...)
	for _, d := range k.devices() {
		if !maps.Equal(d.opts, p.opts[d.volume]) {
			commands = append(commands, setup("peer-device-options", options(p.opts[d.volume]), c.name, p.id.String(),
				strconv.Itoa(d.volume), "--set-defaults"))
		}
	}
	if k.state == drbd.StandAlone {
		commands = append(commands, n.connectCommand(c, p))
	}
	return commands
}

func (n *Node) adjustPeer84(c *config, p confPeer, k *conn) [][]string {
	switch {
	case !slices.Equal(k.paths, p.paths):
		return [][]string{n.disconnectCommand(c, confPeer{paths: k.paths}), n.connectCommand(c, p)}
	case !maps.Equal(k.net, p.net):
		return [][]string{setup("net-options", options(p.net), p.paths[0][0], p.paths[0][1], "--set-defaults")}
	}
	return nil
}

func adjustPaths(c *config, p confPeer, k *conn) [][]string {
	var commands [][]string
	for _, path := range k.paths {
		if !slices.Contains(p.paths, path) {
			commands = append(commands, setup("del-path", nil, c.name, p.id.String(), path[0], path[1]))
		}
	}
	for _, path := range p.paths {
		if !slices.Contains(k.paths, path) {
			commands = append(commands, setup("new-path", nil, c.name, p.id.String(), path[0], path[1]))
		}
	}
	return commands
}

// printed is what -d prints; for DRBD 8.4 with that version's own tool.
func (n *Node) printed(commands [][]string) string {
	var b strings.Builder
	for _, c := range commands {
		line := strings.Join(c, " ")
		if n.version.Is84() {
			line = strings.Replace(line, "drbdsetup ", "drbdsetup-84 ", 1)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// carryOut runs the commands until one fails, which drbdadm repeats. up and
// adjust end with exit code 1 whatever failed.
func (n *Node) carryOut(ctx context.Context, verb string, commands [][]string) (string, error) {
	var out strings.Builder
	for _, c := range commands {
		text, err := n.dispatch(ctx, c)
		n.publishNamed(c)
		if r, ok := errors.AsType[*refusal](err); ok {
			return out.String(), n.repeated(verb, c, r)
		}
		if err != nil {
			return out.String(), err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

func (n *Node) repeated(verb string, command []string, r *refusal) error {
	code, text := r.code, r.stderr
	if verb == "up" || verb == "adjust" {
		code = 1
	}
	if text != noMetaData {
		line := strings.TrimSuffix(n.printed([][]string{command}), "\n")
		text += fmt.Sprintf("\nCommand '%s' terminated with exit code %d", line, r.code)
	}
	return refuse(code, "%s", text)
}
