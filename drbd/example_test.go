package drbd_test

import (
	"context"
	"fmt"
	"net/netip"

	"rvol/drbd"
	"rvol/drbd/drbdtest"
)

// A Runner runs the tools; this one only shows what it would run.
func Example() {
	run := func(_ context.Context, argv ...string) ([]byte, error) {
		fmt.Println(argv)
		return nil, nil
	}
	ctx := context.Background()
	db := drbd.Ref{Name: "db-1", File: "/etc/drbd.d/rvol/db-1.res", Minors: []drbd.Minor{10000}}
	disk := drbd.MetaDev{Minor: 10000, Disk: "/dev/vg0/rvol-db-1.0.0"}

	tool := drbd.New(run, drbdtest.V9)
	_ = tool.CreateMD(ctx, disk, drbd.MaxPeers)
	_ = tool.Up(ctx, db)
	_ = tool.NewCurrentUUID(ctx, 10000, drbd.SkipInitialSync)
	_ = tool.Primary(ctx, db)

	tool = drbd.New(run, drbdtest.V84)
	_ = tool.Primary(ctx, db)
	// Output:
	// [drbdmeta 10000 v09 /dev/vg0/rvol-db-1.0.0 internal create-md 7 --force]
	// [drbdadm -c /etc/drbd.d/rvol/db-1.res up db-1]
	// [drbdsetup new-current-uuid 10000 --clear-bitmap]
	// [drbdsetup primary db-1]
	// [drbdsetup primary 10000]
}

func ExampleConfig_Render() {
	c := drbd.Config{
		Resource: "db-1", This: "n1", Secret: "correct-horse",
		Hosts: []drbd.Host{
			{Name: "n1", Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.77.0.1:17000")}},
			{Name: "n2", Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.77.0.2:17000")}},
		},
		Volumes: []drbd.Volume{{Minor: 10000, Disk: "/dev/vg0/rvol-db-1.0.0"}},
		Options: drbd.Options{HMACAlg: "sha256", VerifyAlg: "crc32c"},
	}
	text, err := c.Render(drbdtest.V84)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s%s\n", text, c.Secret)
	// Output:
	// # Made by rvol; changes are overwritten.
	// resource "db-1" {
	//     options {
	//         on-no-data-accessible suspend-io;
	//     }
	//     net {
	//         protocol C;
	//         allow-two-primaries no;
	//         after-sb-0pri disconnect;
	//         after-sb-1pri disconnect;
	//         after-sb-2pri disconnect;
	//         rr-conflict disconnect;
	//         cram-hmac-alg "sha256";
	//         shared-secret "correct-horse";
	//         verify-alg "crc32c";
	//     }
	//     disk {
	//         on-io-error detach;
	//     }
	//     on "n1" {
	//         address ipv4 10.77.0.1:17000;
	//         volume 0 {
	//             device /dev/drbd10000 minor 10000;
	//             disk "/dev/vg0/rvol-db-1.0.0";
	//             meta-disk internal;
	//         }
	//     }
	//     on "n2" {
	//         address ipv4 10.77.0.2:17000;
	//         volume 0 {
	//             device /dev/drbd10000 minor 10000;
	//             disk "/dev/rvol/peer.0";
	//             meta-disk internal;
	//         }
	//     }
	// }
	// ***
}

func ExampleTable() {
	table := drbd.NewTable()
	for _, line := range []string{
		"exists resource name:db-1 role:Secondary suspended:no",
		"exists device name:db-1 volume:0 minor:10000 disk:UpToDate size:65496",
		"exists -",
		"change resource name:db-1 role:Primary",
	} {
		e, err := drbd.ParseEvent([]byte(line))
		if err == nil {
			err = table.Apply(e)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	r, _ := table.Resource("db-1")
	fmt.Println(table.Complete(), r.Role, r.Devices[0].Disk, r.Devices[0].Size)
	// Output: true Primary UpToDate 67067904
}

func ExampleCommand_Loss() {
	plan, _ := drbd.ParseCommands([]byte("drbdsetup new-peer db-1 3 --_name=n4\ndrbdsetup del-peer db-1 2\n"))
	for _, c := range plan {
		if loss := c.Loss(nil); loss != "" {
			fmt.Printf("refused: %s: it %s\n", c, loss)
		}
	}
	// Output: refused: drbdsetup del-peer db-1 2: it removes a peer
}
