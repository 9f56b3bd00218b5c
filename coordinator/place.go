package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"

	"rvol/coordinator/model"
	"rvol/proto/identity"
)

// place is this member's place in its cluster, as its directory remembers it. It is
// written last by Init and Join: where it stands, all else does.
type place struct {
	Name string `json:"name"`
	API  string `json:"api"`  // host:port for the command line and agents
	Raft string `json:"raft"` // host:port for the other members
}

// errNoPlace says that a directory is not that of a member.
var errNoPlace = fmt.Errorf("%w: this machine is no coordinator yet: run `rvol-coordinator init` on the first, `rvol-coordinator join` on the others", model.ErrNotFound)

func loadPlace(dir string) (place, error) {
	var p place
	b, err := identity.ReadPrivateFile(placeFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return p, errNoPlace
	}
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read %s: %w", placeFile(dir), err)
	}
	return p, nil
}

func (p place) save(dir string) error { return saveJSON(placeFile(dir), p) }

func saveJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return identity.WriteFile(path, append(b, '\n'))
}

// check refuses names and addresses that others could not use.
func (p place) check() error {
	if err := model.CheckName("coordinator", p.Name, model.MaxName); err != nil {
		return err
	}
	for _, a := range []struct{ what, addr string }{{"API", p.API}, {"Raft", p.Raft}} {
		if err := checkAddress(a.what, a.addr); err != nil {
			return err
		}
	}
	if p.API == p.Raft {
		return fmt.Errorf("%w: API and Raft both have the address %s", model.ErrInvalid, p.API)
	}
	return nil
}

// checkAddress refuses an address that means another machine on each machine.
func checkAddress(what, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%w: %s address %q: want host:port as the others reach it", model.ErrInvalid, what, addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%w: %s address %q: port %q is not 1 to 65535", model.ErrInvalid, what, addr, port)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%w: %s address %q: the others cannot connect to it", model.ErrInvalid, what, addr)
	}
	return nil
}
