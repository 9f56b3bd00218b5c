package nodeagent

import (
	"io"
	"time"

	"github.com/hashicorp/yamux"
)

// Operations of a call to the agent.
const (
	OpExec = "exec" // arguments: Exec
	OpDial = "dial" // arguments: Dial
)

// Exec are the arguments of OpExec.
type Exec struct {
	Argv []string
	Env  []string
}

// Dial are the arguments of OpDial.
type Dial struct {
	Address string
}

// writeTimeout is how long a call may wait for a node to take its bytes.
const writeTimeout = time.Minute

// MuxConfig says how both ends share one session between calls. A node may stand still for long, and nothing but its agent or
// the end of its kernel ends a session; so there are no keep-alives.
func MuxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = writeTimeout
	c.StreamOpenTimeout = 0
	c.LogOutput = io.Discard
	return c
}
