package remote

import (
	"path/filepath"

	"rvol/cmd/internal/lab"
)

// Operations. The arguments of each are a struct of this file, the lab's own words, or none.
const (
	opUp      = "up"
	opExec    = "exec"
	opKill    = "kill"
	opStart   = "start"
	opStop    = "stop"
	opDisturb = "disturb"
	opHeal    = "heal"
	opLogs    = "logs"
	opStatus  = "status"
	opDial    = "dial"
	opForward = "forward"
	opPush    = "push"
	opDown    = "down"
)

// args are the arguments of all operations; each uses some.
type args struct {
	Node  string    `json:",omitempty"`
	Argv  []string  `json:",omitempty"`
	Env   []string  `json:",omitempty"`
	Port  int       `json:",omitempty"`
	Src   string    `json:",omitempty"`
	Dst   string    `json:",omitempty"`
	Fault lab.Fault `json:",omitzero"`
}

// SocketFile is where the world of a run folder answers.
func SocketFile(dir string) string { return filepath.Join(dir, "ctl.sock") }

// LogFile is what the background process of a run folder writes.
func LogFile(dir string) string { return filepath.Join(dir, "daemon.log") }
