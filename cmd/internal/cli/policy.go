package cli

import (
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	adminv1 "rvol/proto/admin/v1"
)

// policyFlags are the parts of a class that may change later.
type policyFlags struct {
	ftt, gmdr   int32
	replication string
	rollout     string
	rolloutMax  int32
	conflict    string
	conflictMax int32
	repairAfter time.Duration
	onNoQuorum  string
	wipe        string
	verifyEvery time.Duration
	drbd        []string
}

func (p *policyFlags) on(c *cobra.Command) {
	f := c.Flags()
	f.Int32Var(&p.ftt, "ftt", 0, "`N` failures to tolerate while volumes stay available")
	f.Int32Var(&p.gmdr, "gmdr", 0, "guaranteed minimum data redundancy: `N` copies that may fail without loss of data")
	f.StringVar(&p.replication, "replication", "", "the older names: None, Availability, Consistency, ConsistencyAndAvailability")
	f.StringVar(&p.rollout, "rollout", "", "RollingUpdate or NewVolumesOnly: what a change of the class does to volumes")
	f.Int32Var(&p.rolloutMax, "rollout-max-parallel", 0, "how many volumes, `N`, a rollout changes at a time")
	f.StringVar(&p.conflict, "conflict", "", "RollingRepair or Manual: what becomes of replicas on nodes that are no longer eligible")
	f.Int32Var(&p.conflictMax, "conflict-max-parallel", 0, "how many volumes, `N`, are repaired at a time")
	f.DurationVar(&p.repairAfter, "repair-after", 0, "how long a node may be away before its copies are replaced (default 1h); 0 is never")
	f.StringVar(&p.onNoQuorum, "on-no-quorum", "", "suspend-io or io-error: what a volume without quorum does to its users")
	f.StringVar(&p.wipe, "wipe", "", "none, discard or zero: what is done to old blocks before a thick volume is used")
	f.DurationVar(&p.verifyEvery, "verify-every", 0, "compare the copies this often")
	pairFlag(c, &p.drbd, "drbd", "a DRBD tuning option")
	complete(c, "replication", fixed("None", "Availability", "Consistency", "ConsistencyAndAvailability"))
	complete(c, "rollout", fixed("RollingUpdate", "NewVolumesOnly"))
	complete(c, "conflict", fixed("RollingRepair", "Manual"))
	complete(c, "on-no-quorum", fixed("suspend-io", "io-error"))
	complete(c, "wipe", fixed("none", "discard", "zero"))
}

// check refuses flags that contradict each other.
func (p *policyFlags) check(c *cobra.Command) error {
	return exclusive(c, "replication", "ftt", "gmdr")
}

// create fills a new class; what was not given is for the server to choose.
func (p *policyFlags) create(c *cobra.Command, r *adminv1.Class) {
	r.Ftt, r.Gmdr, r.Replication = p.ftt, p.gmdr, p.replication
	r.Rollout, r.RolloutMaxParallel = p.rollout, p.rolloutMax
	r.Conflict, r.ConflictMaxParallel = p.conflict, p.conflictMax
	r.RepairAfter, r.VerifyEvery = p.repair(c), positive(p.verifyEvery)
	r.OnNoQuorum, r.Wipe = p.onNoQuorum, p.wipe
}

// repair is how long nodes may be away, if that was said: 0 is never.
func (p *policyFlags) repair(c *cobra.Command) *durationpb.Duration {
	if !c.Flags().Changed("repair-after") {
		return nil
	}
	return durationpb.New(p.repairAfter)
}

// set asks for the change of what was given.
func (p *policyFlags) set(c *cobra.Command) *adminv1.SetClassRequest {
	return &adminv1.SetClassRequest{
		Ftt: given(c, "ftt", p.ftt), Gmdr: given(c, "gmdr", p.gmdr), Replication: given(c, "replication", p.replication),
		Rollout: given(c, "rollout", p.rollout), RolloutMaxParallel: given(c, "rollout-max-parallel", p.rolloutMax),
		Conflict: given(c, "conflict", p.conflict), ConflictMaxParallel: given(c, "conflict-max-parallel", p.conflictMax),
		RepairAfter: p.repair(c), VerifyEvery: positive(p.verifyEvery),
		OnNoQuorum: given(c, "on-no-quorum", p.onNoQuorum), Wipe: given(c, "wipe", p.wipe),
	}
}
