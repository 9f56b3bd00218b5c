// Command rvol-coordinator is a member of the control plane of an rvol cluster.
package main

import (
	"context"

	"rvol/cmd/internal/program"
)

const usage = `rvol-coordinator decides where the volumes of an rvol cluster live.

Usage:
  rvol-coordinator init --name NAME --api HOST:PORT --raft HOST:PORT    make a new cluster, of which this is the first member
  rvol-coordinator join --token TOKEN --coordinator HOST:PORT
                        --name NAME --api HOST:PORT --raft HOST:PORT    become a member of a cluster that runs
  rvol-coordinator run                                                  be that member; the systemd unit does this
  rvol-coordinator admin-cert --name NAME --role ROLE --out FILE        make a client configuration for somebody
  rvol-coordinator recover                                              go on as the only member, when the majority is lost for good
  rvol-coordinator version

Every flag has a twin in the environment: --dir is RVOL_COORDINATOR_DIR.
Show the flags of a verb with: rvol-coordinator VERB --help
`

func main() {
	program.Program{
		Name: name, Usage: usage,
		Verbs: map[string]func(context.Context, []string) error{
			"run": run, "init": initialize, "join": join, "admin-cert": adminCert, "recover": recoverAlone,
		},
	}.Main()
}
