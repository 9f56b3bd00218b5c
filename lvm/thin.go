package lvm

import "context"

// AllFree as the size of a thin pool takes every free extent of its group.
const AllFree = 0

// ThinPoolCreate runs `lvcreate --yes --type thin-pool --zero y --config
// activation/error_when_full=1 [--addtag TAG]... --size SIZEb|--extents
// 100%FREE --name POOL VG`.
//
// lvcreate refuses --errorwhenfull for thin pools ("is unsupported"), and a
// second command could be forgotten by a crash: hence the configuration.
func (t *Tool) ThinPoolCreate(ctx context.Context, s LVSpec) error {
	argv, err := s.argv("--type", "thin-pool", "--zero", "y", "--config", "activation/error_when_full=1")
	if err != nil {
		return err
	}
	if s.Size == AllFree {
		argv = append(argv, "--extents", "100%FREE")
	} else {
		size, err := bytes(s.Size)
		if err != nil {
			return err
		}
		argv = append(argv, "--size", size)
	}
	return t.exec(ctx, s.VG+"/"+s.Name, append(argv, "--name", s.Name, s.VG)...)
}

// ThinCreate runs `lvcreate --yes --type thin [--addtag TAG]... --virtualsize
// SIZEb --thinpool POOL --name LV VG`. The new volume reads zeros if its pool
// zeroes (LV.Zero).
func (t *Tool) ThinCreate(ctx context.Context, pool string, s LVSpec) error {
	argv, err := s.argv("--type", "thin")
	if err != nil {
		return err
	}
	if err := verify(check{"thin pool name", pool, nameRE}); err != nil {
		return err
	}
	size, err := bytes(s.Size)
	if err != nil {
		return err
	}
	argv = append(argv, "--virtualsize", size, "--thinpool", pool, "--name", s.Name, s.VG)
	return t.exec(ctx, s.VG+"/"+s.Name, argv...)
}
