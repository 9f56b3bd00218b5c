package transition

import (
	"fmt"
	"time"
)

// ForgetLost takes a member out of the mesh that is gone, and leaves the quorum as high as it
// was; SettleQuorum brings it back to the majority. In between everybody who stays has
// forgotten the lost one. At once, some could have quorum by the new count while the others,
// who still know the lost one, give it quorum by the old.
const (
	ForgetLost   = "ForgetLost"
	SettleQuorum = "SettleQuorum"
)

var forgetLost = step{
	name: ForgetLost, guards: []guard{isLost, notInUse, enoughCopies}, enter: leave,
	concerns: everybody, confirm: applied, slow: time.Minute,
}

var settleQuorum = step{
	name: SettleQuorum, enter: settle, concerns: everybody, confirm: applied, slow: time.Minute,
}

// isLost protects a copy that came back, and everybody from one that still counts itself in.
func isLost(a at) string {
	if why := a.stillThere(a.subject()); why != "" {
		return fmt.Sprintf("it is not forgotten: %s", why)
	}
	return ""
}

func settle(a at, d *draft) {
	d.setQuorum(a)
	d.revise()
}
