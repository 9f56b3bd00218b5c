package consensus_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"rvol/coordinator/model"
	"rvol/coordinator/state"
)

const benchClients = 64

// BenchmarkPropose is 64 clients that each place one volume after the other, on a real
// disk. Compare it with BenchmarkRawRaft.
func BenchmarkPropose(b *testing.B) {
	node, _, err := single(b.TempDir(), func(err error) { b.Error(err) })
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := node.Close(); err != nil {
			b.Error(err)
		}
	}()
	var n atomic.Int64
	b.SetParallelism(benchClients / 2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			name := fmt.Sprintf("db-%d", n.Add(1))
			txn, err := state.NewTxn("bench", "place "+name).
				Put(&model.Volume{Meta: model.Meta{Name: name}, Class: "gold", Devices: []model.VolumeDevice{{Size: 1 << 30}}}).
				Put(&model.Replica{Meta: model.Meta{Name: name + "/0"}, Volume: name, Type: model.TieBreaker, Node: "n1"}).Txn()
			if err == nil {
				_, err = node.Propose(b.Context(), txn)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkRawRaft is the same library and store without rvol: entries of 512 bytes that
// nobody reads.
func BenchmarkRawRaft(b *testing.B) {
	db, err := raftboltdb.NewBoltStore(b.TempDir() + "/raft.db")
	if err != nil {
		b.Fatal(err)
	}
	_, net := raft.NewInmemTransport("n1")
	cfg := raft.DefaultConfig()
	cfg.LocalID, cfg.LogLevel, cfg.BatchApplyCh = "n1", "OFF", true
	r, err := raft.NewRaft(cfg, &raft.MockFSM{}, db, db, raft.NewInmemSnapshotStore(), net)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := r.Shutdown().Error(); err != nil {
			b.Error(err)
		}
	}()
	r.BootstrapCluster(raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: "n1"}}})
	for leads := false; !leads; leads = <-r.LeaderCh() {
	}
	data := make([]byte, 512)
	b.SetParallelism(benchClients / 2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := r.Apply(data, 0).Error(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
