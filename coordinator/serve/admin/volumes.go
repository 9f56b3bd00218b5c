package admin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rvol/coordinator/control"
	"rvol/coordinator/decide/transition"
	"rvol/coordinator/inventory"
	"rvol/coordinator/model"
	"rvol/coordinator/serve/door"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

type volumes struct {
	adminv1.UnimplementedVolumesServer
	*api
}

// List tells of volumes what was decided, and how they are as far as agents have said.
func (s *volumes) List(_ context.Context, q *adminv1.ListRequest) (*adminv1.ListVolumesResponse, error) {
	v, seen := s.Store.View(), s.Inventory.View()
	picked, err := pick[*model.Volume](v, q)
	if err != nil {
		return nil, err
	}
	out := &adminv1.ListVolumesResponse{}
	for _, vol := range picked {
		if _, here := v.ReplicaOn(q.GetNode(), vol.Name); q.GetNode() == "" || here {
			out.Volumes = append(out.Volumes, volumeOf(v, seen, vol))
		}
	}
	return out, nil
}

func (s *volumes) one(name string) (*adminv1.Volume, error) {
	v := s.Store.View()
	vol, err := find[*model.Volume](v, name)
	if err != nil {
		return nil, err
	}
	return volumeOf(v, s.Inventory.View(), vol), nil
}

func volumeOf(v state.View, seen inventory.View, vol *model.Volume) *adminv1.Volume {
	h := healthOf(v, seen, vol)
	out := &adminv1.Volume{
		Meta: meta(&vol.Meta), Class: vol.Class, AttachTo: vol.AttachTo, MaxAttachments: int32(max(1, vol.MaxAttachments)), Stopped: vol.Stopped,
		CopiesUpToDate: int32(h.upToDate), CopiesWanted: int32(h.wanted), Layout: h.layout,
	}
	out.State, out.Message = h.state()
	for _, d := range vol.Devices {
		out.Devices = append(out.Devices, &adminv1.VolumeDevice{Number: int32(d.Number), Size: d.Size})
	}
	for _, r := range h.replicas {
		out.Replicas = append(out.Replicas, r.proto())
	}
	for a := range state.Under[*model.Attachment](v, vol.Name+"/") {
		out.Attachments = append(out.Attachments, attachmentOf(v, seen, a))
	}
	vs := h.status
	if vs == nil {
		return out
	}
	out.Formed, out.DatameshRevision, out.Sole = vs.Formed, vs.Datamesh.Revision, optional32(vs.Sole)
	out.Quorum, out.QuorumMinimumRedundancy = int32(vs.Datamesh.Quorum), int32(vs.Datamesh.QuorumMinimumRedundancy)
	out.Conditions = conditions(h.conditions())
	out.Pending, out.Verification = pendingOf(vs), verificationOf(vs.Verification, h.replicas)
	if ftt, gmdr, known := transition.Effective(control.TransitionInput(v, seen, vol, vs, time.Now())); known {
		out.EffectiveFtt, out.EffectiveGmdr = optional32(&ftt), optional32(&gmdr)
	}
	if vs.Formation != nil {
		out.Formation = transitionOf(vs.Formation)
	}
	for i := range vs.Transitions {
		out.Transitions = append(out.Transitions, transitionOf(&vs.Transitions[i]))
	}
	return out
}

// pendingOf is what the replicas of a volume ask of its mesh.
func pendingOf(vs *model.VolumeStatus) []*adminv1.PendingReplica {
	var out []*adminv1.PendingReplica
	for _, p := range vs.Pending {
		out = append(out, &adminv1.PendingReplica{
			Id: int32(p.ID), Request: p.Request, Type: string(p.Type), Message: p.Message, FirstObservedAt: timestamp(p.FirstObservedAt),
		})
	}
	return out
}

func transitionOf(t *model.Transition) *adminv1.Transition {
	out := &adminv1.Transition{Type: t.Type, Plan: t.Plan, StartedAt: timestamp(t.StartedAt), Restarts: int32(t.Restarts), Abort: t.Abort, Title: t.Title}
	for _, d := range t.Devices {
		out.Devices = append(out.Devices, &adminv1.VolumeDevice{Number: int32(d.Number), Size: d.Size})
	}
	for _, s := range t.Steps {
		out.Steps = append(out.Steps, &adminv1.TransitionStep{
			Name: s.Name, Status: string(s.Status), Message: s.Message,
			StartedAt: timestamp(s.StartedAt), CompletedAt: timestamp(s.CompletedAt), Replica: optional32(s.Replica),
		})
	}
	return out
}

// maxDevices bounds the devices of one DRBD resource.
const maxDevices = 16

// Create makes a volume; it is formed afterwards. What no pool could ever hold is refused
// at once.
func (s *volumes) Create(ctx context.Context, r *adminv1.CreateVolumeRequest) (*adminv1.Volume, error) {
	vol, err := newVolume(r, s.Clock())
	if err != nil {
		return nil, err
	}
	_, err = s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		if old, ok := state.Get[*model.Volume](v, vol.Name); ok {
			reason := "exists already"
			if old.Deleting() {
				reason = "a volume of that name is being deleted"
			}
			return nil, door.Refuse(model.ErrExists, vol.Key(), reason, "use another name, or see `rvol volume show "+vol.Name+"`")
		}
		class, err := mayMakeVolume(v, vol)
		if err != nil {
			return nil, err
		}
		b.Expect(class.Key(), class.Revision)
		return b.Because(fmt.Sprintf("make volume %s, %s, class %s", vol.Name, size(vol.Size()), class.Name)).Put(vol), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(vol.Name)
}

// mayMakeVolume refuses a volume that could never be, and returns its class.
func mayMakeVolume(v state.View, vol *model.Volume) (*model.Class, error) {
	class, err := find[*model.Class](v, vol.Class)
	if err != nil {
		return nil, err
	}
	if class.Deleting() {
		return nil, door.Refuse(model.ErrBusy, class.Key(), "it is being deleted", "use another class")
	}
	for _, node := range vol.AttachTo {
		if _, err := find[*model.Node](v, node); err != nil {
			return nil, err
		}
	}
	return class, couldFit(v, vol, class)
}

func newVolume(r *adminv1.CreateVolumeRequest, now time.Time) (*model.Volume, error) {
	if err := model.CheckName("volume", r.GetName(), model.MaxVolumeName); err != nil {
		return nil, err
	}
	vol := &model.Volume{
		Meta: newMeta(r.GetName(), r.GetLabels(), now), Class: r.GetClass(), AttachTo: r.GetAttachTo(), DRBD: r.GetDrbd(), MaxAttachments: 1,
	}
	vol.Properties = r.GetProperties()
	key := vol.Key()
	if vol.Class == "" {
		return nil, door.Refuse(model.ErrInvalid, key, "it needs a class", "see `rvol class list`")
	}
	if err := setDevices(vol, r.GetSizes()); err != nil {
		return nil, err
	}
	if r.GetMaxAttachments() != 0 {
		n, err := within(key, "attachments at once", r.GetMaxAttachments(), 1, 2)
		if err != nil {
			return nil, err
		}
		vol.MaxAttachments = n
	}
	for i, n := range vol.AttachTo {
		if slices.Contains(vol.AttachTo[:i], n) {
			return nil, door.Invalid(key, "node %s is named twice", n)
		}
	}
	for _, err := range []error{
		invalid(key, model.CheckLabels(vol.Labels)), checkProperties(key, vol.Properties), checkTuning(key, vol.DRBD),
	} {
		if err != nil {
			return nil, err
		}
	}
	return vol, nil
}

func setDevices(vol *model.Volume, sizes []int64) error {
	if len(sizes) < 1 || len(sizes) > maxDevices {
		return door.Invalid(vol.Key(), "%d devices: want 1 to %d", len(sizes), maxDevices)
	}
	for i, asked := range sizes {
		rounded, err := model.CheckSize(asked)
		if err != nil {
			return door.Invalid(vol.Key(), "device %d: %s", i, bare(err))
		}
		vol.Devices = append(vol.Devices, model.VolumeDevice{Number: i, Size: rounded})
	}
	if vol.Size() > model.MaxSize {
		return door.Invalid(vol.Key(), "its devices have %s together: more than 1 PiB", size(vol.Size()))
	}
	return nil
}

// Set changes what may be changed while a volume lives.
func (s *volumes) Set(ctx context.Context, r *adminv1.SetVolumeRequest) (*adminv1.Volume, error) {
	_, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		old, err := find[*model.Volume](v, r.GetName())
		if err != nil {
			return nil, err
		}
		if old.Deleting() {
			return nil, door.Refuse(model.ErrBusy, old.Key(), "it is being deleted", "")
		}
		vol := model.Clone(old)
		vol.Generation++
		if vol.Labels, err = relabel(vol.Labels, r.GetLabels()); err != nil {
			return nil, invalid(vol.Key(), err)
		}
		vol.Properties = merged(vol.Properties, r.GetProperties())
		if err := checkProperties(vol.Key(), vol.Properties); err != nil {
			return nil, err
		}
		if err := setUse(v, vol, r); err != nil {
			return nil, err
		}
		if err := setClass(v, vol, r.GetClass(), b, s.Clock()); err != nil {
			return nil, err
		}
		return b.Because("change volume " + vol.Name).Put(vol), nil
	})
	if err != nil {
		return nil, err
	}
	return s.one(r.GetName())
}

// setUse changes whether and by how many a volume may be used.
func setUse(v state.View, vol *model.Volume, r *adminv1.SetVolumeRequest) error {
	users := usersOf(v, vol.Name)
	if r.Stopped != nil {
		if r.GetStopped() && len(users) > 0 {
			return door.Refuse(model.ErrBusy, vol.Key(), "in use on node "+users[0].Node, "detach it first: `rvol volume detach "+vol.Name+" "+users[0].Node+"`")
		}
		vol.Stopped = r.GetStopped()
	}
	if r.MaxAttachments != nil {
		n, err := within(vol.Key(), "attachments at once", r.GetMaxAttachments(), 1, 2)
		if err != nil {
			return err
		}
		if len(users) > n {
			return door.Refuse(model.ErrBusy, vol.Key(), fmt.Sprintf("in use on %d nodes", len(users)), "detach it from one first")
		}
		vol.MaxAttachments = n
	}
	return nil
}

// Delete takes a volume and its data away. It is refused while the volume is in use.
func (s *volumes) Delete(ctx context.Context, r *adminv1.DeleteRequest) (*adminv1.Done, error) {
	key := model.Key{Kind: model.KindVolume, Name: r.GetName()}
	message := "is being deleted: its replicas are removed"
	rev, err := s.write(ctx, "", func(v state.View, b *state.Build) (*state.Build, error) {
		old, err := find[*model.Volume](v, r.GetName())
		if err != nil {
			return nil, err
		}
		if err := confirmed(key, r.GetConfirm()); err != nil {
			return nil, err
		}
		if old.Deleting() {
			message = "it was being deleted already"
			return nil, nil
		}
		if users := usersOf(v, old.Name); len(users) > 0 {
			return nil, door.Refuse(model.ErrBusy, key, "in use on node "+users[0].Node,
				"detach it first: `rvol volume detach "+old.Name+" "+users[0].Node+"`")
		}
		vol := model.Clone(old)
		vol.DeletingSince = s.Clock()
		vol.Generation++
		return b.Because("delete volume " + vol.Name).Put(vol), nil
	})
	if err != nil {
		return nil, err
	}
	return &adminv1.Done{Revision: rev, Message: message}, nil
}
