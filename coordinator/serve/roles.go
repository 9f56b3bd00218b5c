package serve

import (
	"fmt"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	adminv1 "rvol/proto/admin/v1"
	agentv1 "rvol/proto/agent/v1"
	"rvol/proto/identity"
)

// who may make a call.
type who int

const (
	viewers   who = iota // and operators and admins
	operators            // and admins
	admins
	agents    // about their own node
	members   // coordinators, for themselves
	strangers // who have a token instead of a certificate
	everybody // a load balancer among them
)

// where a call is carried out.
type where int

const (
	leader   where = iota // by the leader, and nowhere else
	anywhere              // by the leader when there is one, else here and labelled stale
	here                  // by whoever is asked
)

// rule is one row of the table of calls.
type rule struct {
	who   who
	where where
}

// rules says of every call who may make it and where it is carried out. A call that has
// no row is refused.
var rules = map[string]rule{
	adminv1.Nodes_List_FullMethodName:   {viewers, anywhere},
	adminv1.Nodes_Set_FullMethodName:    {operators, leader},
	adminv1.Nodes_Fence_FullMethodName:  {admins, leader},
	adminv1.Nodes_Lost_FullMethodName:   {admins, leader},
	adminv1.Nodes_Drain_FullMethodName:  {operators, leader},
	adminv1.Nodes_Delete_FullMethodName: {admins, leader},

	adminv1.LVGs_List_FullMethodName:   {viewers, anywhere},
	adminv1.LVGs_Create_FullMethodName: {operators, leader},
	adminv1.LVGs_Set_FullMethodName:    {operators, leader},
	adminv1.LVGs_Lost_FullMethodName:   {admins, leader},
	adminv1.LVGs_Delete_FullMethodName: {admins, leader},

	adminv1.Pools_List_FullMethodName:    {viewers, anywhere},
	adminv1.Pools_Create_FullMethodName:  {operators, leader},
	adminv1.Pools_Delete_FullMethodName:  {admins, leader},
	adminv1.Pools_Set_FullMethodName:     {operators, leader},
	adminv1.Pools_Explain_FullMethodName: {viewers, anywhere},

	adminv1.Classes_List_FullMethodName:    {viewers, anywhere},
	adminv1.Classes_Create_FullMethodName:  {operators, leader},
	adminv1.Classes_Set_FullMethodName:     {operators, leader},
	adminv1.Classes_Delete_FullMethodName:  {admins, leader},
	adminv1.Classes_Explain_FullMethodName: {viewers, anywhere},

	adminv1.Quotas_List_FullMethodName:   {viewers, anywhere},
	adminv1.Quotas_Create_FullMethodName: {admins, leader},
	adminv1.Quotas_Set_FullMethodName:    {admins, leader},
	adminv1.Quotas_Delete_FullMethodName: {admins, leader},

	adminv1.Objects_Apply_FullMethodName:  {operators, leader},
	adminv1.Objects_Export_FullMethodName: {viewers, anywhere},

	adminv1.Volumes_List_FullMethodName:    {viewers, anywhere},
	adminv1.Volumes_Create_FullMethodName:  {operators, leader},
	adminv1.Volumes_Adopt_FullMethodName:   {admins, leader},
	adminv1.Volumes_Set_FullMethodName:     {operators, leader},
	adminv1.Volumes_Delete_FullMethodName:  {admins, leader},
	adminv1.Volumes_Resize_FullMethodName:  {operators, leader},
	adminv1.Volumes_Cancel_FullMethodName:  {operators, leader},
	adminv1.Volumes_Resolve_FullMethodName: {admins, leader},
	adminv1.Volumes_Recover_FullMethodName: {admins, leader},
	adminv1.Volumes_Verify_FullMethodName:  {operators, leader},
	adminv1.Volumes_Attach_FullMethodName:  {operators, leader},
	adminv1.Volumes_Detach_FullMethodName:  {operators, leader},

	adminv1.Replicas_List_FullMethodName:    {viewers, anywhere},
	adminv1.Replicas_Add_FullMethodName:     {operators, leader},
	adminv1.Replicas_Move_FullMethodName:    {operators, leader},
	adminv1.Replicas_Remove_FullMethodName:  {operators, leader},
	adminv1.Replicas_Retype_FullMethodName:  {operators, leader},
	adminv1.Replicas_Retry_FullMethodName:   {operators, leader},
	adminv1.Attachments_List_FullMethodName: {viewers, anywhere},
	adminv1.Operations_List_FullMethodName:  {viewers, anywhere},

	adminv1.Plans_Placement_FullMethodName:     {viewers, anywhere},
	adminv1.Plans_ExplainVolume_FullMethodName: {viewers, anywhere},

	adminv1.Holds_List_FullMethodName:   {viewers, anywhere},
	adminv1.Holds_Create_FullMethodName: {operators, leader},
	adminv1.Holds_Delete_FullMethodName: {operators, leader},

	adminv1.Orphans_List_FullMethodName:   {viewers, leader},
	adminv1.Orphans_Keep_FullMethodName:   {operators, leader},
	adminv1.Orphans_Remove_FullMethodName: {admins, leader},

	adminv1.Orphans_RemoveLeftovers_FullMethodName: {admins, leader},

	adminv1.Events_List_FullMethodName:    {viewers, anywhere},
	adminv1.Events_Watch_FullMethodName:   {viewers, anywhere},
	adminv1.Events_Changes_FullMethodName: {viewers, anywhere},

	adminv1.Dashboard_Link_FullMethodName: {viewers, here},

	adminv1.Audit_Entries_FullMethodName: {viewers, here},
	adminv1.Audit_Verify_FullMethodName:  {operators, here},

	adminv1.Certificates_List_FullMethodName:   {viewers, anywhere},
	adminv1.Certificates_Revoke_FullMethodName: {admins, leader},
	adminv1.Certificates_Record_FullMethodName: {members, leader},

	adminv1.Tokens_List_FullMethodName:   {admins, anywhere},
	adminv1.Tokens_Create_FullMethodName: {admins, leader},
	adminv1.Tokens_Delete_FullMethodName: {admins, leader},

	adminv1.Cluster_Status_FullMethodName:             {viewers, anywhere},
	adminv1.Cluster_TransferLeadership_FullMethodName: {admins, leader},
	adminv1.Cluster_RemoveMember_FullMethodName:       {admins, leader},
	adminv1.Cluster_SaveSnapshot_FullMethodName:       {admins, anywhere},
	adminv1.Cluster_RestoreSnapshot_FullMethodName:    {admins, leader},
	adminv1.Cluster_Reconcile_FullMethodName:          {admins, leader},
	adminv1.Cluster_Check_FullMethodName:              {viewers, leader},
	adminv1.Cluster_JoinMember_FullMethodName:         {strangers, leader},
	adminv1.Cluster_RenewMember_FullMethodName:        {members, leader},

	adminv1.Support_Bundle_FullMethodName: {operators, anywhere},

	agentv1.Agents_Session_FullMethodName: {agents, here},
	agentv1.Agents_Join_FullMethodName:    {strangers, leader},
	agentv1.Agents_Renew_FullMethodName:   {agents, leader},
	agentv1.Agents_Attach_FullMethodName:  {agents, leader},
	agentv1.Agents_Detach_FullMethodName:  {agents, leader},

	healthv1.Health_Check_FullMethodName: {everybody, here},
	healthv1.Health_List_FullMethodName:  {viewers, here},
	healthv1.Health_Watch_FullMethodName: {viewers, here},
}

// authorize says whether the caller may make the call at all.
func authorize(method string, c door.Caller) (rule, error) {
	r, ok := rules[method]
	if !ok {
		return rule{}, fmt.Errorf("%w: nobody may call %s", model.ErrForbidden, method)
	}
	if !r.who.has(c.ID.Role) {
		return rule{}, &door.Refused{
			Kind:   model.ErrForbidden,
			Reason: fmt.Sprintf("%s may not call %s, which is for %s", c.Actor(), method, r.who),
			Next:   "use a certificate of a role that may: `rvol-coordinator admin-cert` makes one on a coordinator's machine",
		}
	}
	return r, nil
}

// has says whether a role is among them.
func (w who) has(r identity.Role) bool {
	switch w {
	case viewers:
		return r.Person()
	case operators:
		return r == identity.Operator || r == identity.Admin
	case admins:
		return r == identity.Admin
	case agents:
		return r == identity.Agent
	case members:
		return r == identity.Server
	case strangers:
		return true // a token is what counts there
	case everybody:
		return true // it tells whether calls are answered, which a call would tell too
	}
	return false
}

// limited says that how much they ask is bounded: machines of the cluster are trusted not to
// ask too much.
func (w who) limited() bool { return w != agents && w != members }

func (w who) String() string {
	return [...]string{"viewers", "operators", "admins", "agents", "coordinators", "everybody with a token", "everybody"}[w]
}
