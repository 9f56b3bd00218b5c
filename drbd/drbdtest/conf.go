package drbdtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rvol/drbd"
)

// section is a part of a .res file: NAME ARGS { STATEMENTS }.
type section struct {
	name     string
	args     []string
	options  [][]string // "protocol C;" is [protocol C]
	sections []*section
}

// parseError is drbdadm's own words for a file it does not understand.
func parseError(format string, args ...any) error {
	return errors.New("Parse error: " + fmt.Sprintf(format, args...))
}

// parseSections reads the statements between braces.
func parseSections(tokens *[]string, depth int) (*section, error) {
	s := &section{}
	for len(*tokens) > 0 {
		words, end := nextStatement(tokens)
		switch {
		case end == "}" && depth > 0 && len(words) == 0:
			return s, nil
		case len(words) == 0 || end == "}" || end == "":
			return nil, parseError("unexpected %q", end)
		case end == ";":
			s.options = append(s.options, words)
			continue
		}
		inner, err := parseSections(tokens, depth+1)
		if err != nil {
			return nil, err
		}
		inner.name, inner.args = words[0], words[1:]
		s.sections = append(s.sections, inner)
	}
	if depth > 0 {
		return nil, parseError("unexpected end of file")
	}
	return s, nil
}

// nextStatement takes words up to the sign that ends them; "" at the end of
// the file.
func nextStatement(tokens *[]string) (words []string, end string) {
	for len(*tokens) > 0 {
		t := (*tokens)[0]
		*tokens = (*tokens)[1:]
		if t == ";" || t == "{" || t == "}" {
			return words, t
		}
		words = append(words, strings.Trim(t, `"`))
	}
	return words, ""
}

// tokenize cuts a file into words, quoted words and signs.
func tokenize(text string) []string {
	var tokens []string
	for line := range strings.Lines(text) {
		for rest := line; ; {
			rest = strings.TrimLeft(rest, " \t\r\n")
			if rest == "" || rest[0] == '#' {
				break
			}
			n := 1
			switch {
			case rest[0] == '"':
				if end := strings.IndexByte(rest[1:], '"'); end >= 0 {
					n = end + 2
				}
			case !strings.ContainsRune("{};", rune(rest[0])):
				if n = strings.IndexAny(rest, " \t\r\n{};\""); n < 0 {
					n = len(rest)
				}
			}
			tokens = append(tokens, rest[:n])
			rest = rest[n:]
		}
	}
	return tokens
}

// config is a .res file as this host reads it.
type config struct {
	name    string
	text    string
	id      drbd.NodeID
	options map[string]string // of the resource
	net     map[string]string
	disk    map[string]string // of disks
	peerDev map[string]string // DRBD 9: resync options, per peer
	volumes []confVolume
	peers   []confPeer
}

type confVolume struct {
	number int
	minor  drbd.Minor
	disk   string // "" for none
}

type confPeer struct {
	name  string
	id    drbd.NodeID
	net   map[string]string
	paths [][2]string
	opts  map[int]map[string]string // peer-device options by volume
}

// Options that each version's drbdadm takes in a .res file, as far as
// package drbd writes them (help texts: drbd84/159, drbd9/1437, 135).
var (
	resOptions84  = []string{"on-no-data-accessible", "cpu-mask"}
	resOptions9   = []string{"auto-promote", "quorum", "quorum-minimum-redundancy", "on-no-quorum", "on-suspended-primary-outdated"}
	netOptions84  = []string{"protocol", "timeout", "connect-int", "ping-int", "ping-timeout", "allow-two-primaries", "cram-hmac-alg", "shared-secret", "after-sb-0pri", "after-sb-1pri", "after-sb-2pri", "rr-conflict", "verify-alg", "max-buffers"}
	diskOptions84 = []string{"fencing"}
	handlers      = []string{"fence-peer"}
	netOptions9   = []string{"allow-remote-read", "fencing"}
	diskOptions   = []string{"on-io-error", "rs-discard-granularity"}
	resyncOptions = []string{"resync-rate", "c-plan-ahead", "c-max-rate", "c-min-rate", "c-fill-target", "c-delay-target"}
)

// readConfig reads the resource of a file for one host. What drbdadm would
// not read is an error.
func (n *Node) readConfig(file, name string) (*config, error) {
	text, err := n.readFile(file)
	if err != nil {
		return nil, refuse(20, "Can not open '%s'.\n.", file)
	}
	tokens := tokenize(string(text))
	root, err := parseSections(&tokens, 0)
	if err != nil {
		return nil, refuse(10, "%s: %v", file, err)
	}
	for _, s := range root.sections {
		if s.name == "resource" && len(s.args) == 1 && s.args[0] == name {
			c, err := n.readResource(s)
			if err != nil {
				return nil, refuse(10, "%s: %v", file, err)
			}
			c.text = string(text)
			return c, nil
		}
	}
	return nil, refuse(1, "'%s' not defined in your config (for this host).", name)
}

func (n *Node) readResource(s *section) (*config, error) {
	old := n.version.Is84()
	c := &config{name: s.args[0], id: drbd.NoNode, disk: map[string]string{}, peerDev: map[string]string{}}
	resOptions, netOptions := resOptions84, netOptions84
	if !old {
		resOptions, netOptions = append(slices.Clone(resOptions), resOptions9...), append(slices.Clone(netOptions), netOptions9...)
	}
	var err error
	if c.options, err = s.optionsOf("options", resOptions); err != nil {
		return nil, err
	}
	if c.net, err = s.optionsOf("net", netOptions); err != nil {
		return nil, err
	}
	if _, err := s.optionsOf("handlers", handlers); err != nil {
		return nil, err
	}
	known := append(slices.Clone(diskOptions), resyncOptions...)
	if old {
		known = append(known, diskOptions84...)
	}
	disk, err := s.optionsOf("disk", known)
	if err != nil {
		return nil, err
	}
	for name, value := range disk {
		if !old && slices.Contains(resyncOptions, name) {
			c.peerDev[name] = value
		} else {
			c.disk[name] = value
		}
	}
	if old {
		return c, c.hosts84(s, n.name)
	}
	return c, c.hosts9(s, n.name, netOptions)
}

// optionsOf collects the options of sections of a name.
func (s *section) optionsOf(name string, known []string) (map[string]string, error) {
	all := map[string]string{}
	for _, sub := range s.sections {
		if sub.name != name {
			continue
		}
		for _, o := range sub.options {
			if len(o) != 2 || !slices.Contains(known, o[0]) {
				return nil, parseError("unexpected '%s' in section %s", strings.Join(o, " "), name)
			}
			all[o[0]] = o[1]
		}
	}
	return all, nil
}

// option gives the words after an option's name.
func (s *section) option(name string) []string {
	for _, o := range s.options {
		if o[0] == name {
			return o[1:]
		}
	}
	return nil
}

// volumesOf reads the volumes of an "on HOST" section.
func volumesOf(host *section, known ...string) ([]confVolume, error) {
	var all []confVolume
	for _, s := range host.sections {
		if s.name != "volume" || len(s.args) != 1 {
			return nil, parseError("unexpected section %s", s.name)
		}
		for _, o := range s.options {
			if !slices.Contains(append(known, "device", "disk", "meta-disk"), o[0]) {
				return nil, parseError("unexpected '%s' in volume", o[0])
			}
		}
		device, disk := s.option("device"), s.option("disk")
		if len(device) < 2 || len(disk) != 1 {
			return nil, fmt.Errorf("volume %s: device or disk missing", s.args[0])
		}
		number, err1 := strconv.Atoi(s.args[0])
		minor, err2 := strconv.Atoi(device[len(device)-1])
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("volume %s: not a number", s.args[0])
		}
		v := confVolume{number: number, minor: drbd.Minor(minor), disk: disk[0]}
		if v.disk == "none" {
			v.disk = ""
		}
		all = append(all, v)
	}
	return all, nil
}

func (c *config) hosts84(s *section, this string) error {
	var mine string
	found := false
	for _, h := range s.sections {
		if h.name != "on" {
			continue
		}
		volumes, err := volumesOf(h)
		if err != nil {
			return err
		}
		address := strings.Join(h.option("address"), ":")
		if address == "" {
			return fmt.Errorf("host %s: address missing", h.args[0])
		}
		if h.args[0] == this {
			c.volumes, mine, found = volumes, address, true
			continue
		}
		c.peers = append(c.peers, confPeer{name: "peer", paths: [][2]string{{"", address}}, net: c.net})
	}
	if !found {
		return fmt.Errorf("'%s' not defined in your config (for this host)", c.name)
	}
	for i := range c.peers {
		c.peers[i].paths[0][0] = mine
	}
	return nil
}

func (c *config) hosts9(s *section, this string, netOptions []string) error {
	hosts := map[string]*section{}
	for _, h := range s.sections {
		if h.name == "on" {
			hosts[h.args[0]] = h
		}
	}
	mine := hosts[this]
	if mine == nil {
		return fmt.Errorf("'%s' not defined in your config (for this host)", c.name)
	}
	var err error
	if c.volumes, err = volumesOf(mine, "tiebreaker"); err != nil {
		return err
	}
	if c.id, err = nodeID(mine); err != nil {
		return err
	}
	for _, conn := range s.sections {
		if conn.name != "connection" {
			continue
		}
		peer, err := c.connection(conn, hosts, this, netOptions)
		if err != nil {
			return err
		}
		c.peers = append(c.peers, peer)
	}
	return nil
}

func nodeID(host *section) (drbd.NodeID, error) {
	o := host.option("node-id")
	if len(o) != 1 {
		return 0, fmt.Errorf("host %s: node-id missing", host.args[0])
	}
	id, err := strconv.Atoi(o[0])
	return drbd.NodeID(id), err
}

func (c *config) connection(s *section, hosts map[string]*section, this string, netOptions []string) (confPeer, error) {
	name, paths, err := s.pathsOf(this)
	if err != nil {
		return confPeer{}, err
	}
	host := hosts[name]
	if host == nil {
		return confPeer{}, fmt.Errorf("connection to host '%s' that is not defined", name)
	}
	p := confPeer{name: name, paths: paths}
	if p.id, err = nodeID(host); err != nil {
		return p, err
	}
	own, err := s.optionsOf("net", netOptions)
	if err != nil {
		return p, err
	}
	p.net = merged(c.net, own)
	p.opts, err = c.peerDevices(host)
	return p, err
}

// pathsOf reads the paths of a connection and who is at their other end.
func (s *section) pathsOf(this string) (peer string, paths [][2]string, err error) {
	for _, path := range s.sections {
		if path.name != "path" {
			continue
		}
		ends := map[string]string{}
		for _, o := range path.options { // host NAME address FAMILY ADDRESS
			if len(o) != 5 || o[0] != "host" || o[2] != "address" {
				return "", nil, parseError("unexpected '%s' in path", strings.Join(o, " "))
			}
			ends[o[1]] = o[3] + ":" + o[4]
			if o[1] != this {
				peer = o[1]
			}
		}
		paths = append(paths, [2]string{ends[this], ends[peer]})
	}
	return peer, paths, nil
}

// peerDevices makes the peer-device options of a peer's volumes.
func (c *config) peerDevices(host *section) (map[int]map[string]string, error) {
	volumes, err := volumesOf(host, "tiebreaker")
	if err != nil {
		return nil, err
	}
	opts := map[int]map[string]string{}
	for i, v := range volumes {
		opts[v.number] = merged(c.peerDev, nil)
		if v.disk == "" {
			opts[v.number]["bitmap"] = "no"
		}
		if t := host.sections[i].option("tiebreaker"); len(t) == 1 && t[0] == "no" {
			opts[v.number]["peer-tiebreaker"] = "no"
		}
	}
	return opts, nil
}

func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}
