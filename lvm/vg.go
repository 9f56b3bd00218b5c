package lvm

import "context"

// VGCreate runs `vgcreate [--addtag TAG]... VG DEVICE`, which makes DEVICE a
// physical volume in the same command.
//
// Never --yes: should the device hold a signature after all, LVM's question
// meets an empty standard input, and the answer is no.
func (t *Tool) VGCreate(ctx context.Context, vg, device string, tags ...string) error {
	if err := verify(check{"volume group name", vg, nameRE}, check{"device", device, deviceRE}); err != nil {
		return err
	}
	if err := verifyTags(tags); err != nil {
		return err
	}
	argv := addTags([]string{"vgcreate"}, tags)
	return t.exec(ctx, vg, append(argv, vg, device)...)
}

// VGActivate runs `vgchange --activate ay VG`: everything in VG that its owner
// wants active at boot. Doing so twice is no error. After ErrPartial all that
// is whole is active.
func (t *Tool) VGActivate(ctx context.Context, vg string) error {
	if err := verify(check{"volume group name", vg, nameRE}); err != nil {
		return err
	}
	return t.exec(ctx, vg, "vgchange", "--activate", "ay", vg)
}
