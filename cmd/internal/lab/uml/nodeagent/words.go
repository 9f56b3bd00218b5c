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

// MuxConfig says how both ends share one session between calls. A node may stand still for long (its machine sleeps), and nothing
// but the end of its kernel ends a session; so there are no keep-alives and no short timeouts.
func MuxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = 10 * time.Minute
	c.StreamOpenTimeout = 0
	c.LogOutput = io.Discard
	return c
}
