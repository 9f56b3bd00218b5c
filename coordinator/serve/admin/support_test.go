package admin

import (
	"bytes"
	"encoding/base64"
	"errors"
	"testing"

	"rvol/coordinator/model"
	"rvol/coordinator/serve/collect"
	"rvol/coordinator/state"
	adminv1 "rvol/proto/admin/v1"
)

// bundled is what a bundle holds, by file, and why files are missing.
func bundled(t *testing.T, w *world, r *adminv1.BundleRequest) (files map[string][]byte, missing map[string]string) {
	t.Helper()
	w.Collects, w.Self = collect.NewBroker(), func() any { return "self" }
	w.Scrape = func() ([]byte, error) { return []byte("up 1\n"), nil }
	w.Secrets = func() [][]byte { return [][]byte{w.sealed.Reveal()} }
	stream := gathered[adminv1.BundlePart](w.ctx)
	if err := (&support{api: w.api}).Bundle(r, stream); err != nil {
		t.Fatal(err)
	}
	close(stream.sent)
	files, missing = map[string][]byte{}, map[string]string{}
	for p := range stream.sent {
		files[p.GetFile()] = append(files[p.GetFile()], p.GetData()...)
		if p.GetMissing() != "" {
			missing[p.GetFile()] = p.GetMissing()
		}
	}
	return files, missing
}

func TestABundleHoldsTheStateWithoutItsSecrets(t *testing.T) {
	w := newWorld(t)
	w.Raft = &fakeRaft{}
	w.node("n1")
	secret := &model.Secret{Value: "MZXW6YTBOI7Q2K3LJHGFDSAPOI"}
	secret.Name = model.VolumeSecret("db-1")
	cluster, _ := get[*model.Cluster](w, model.ClusterName)
	w.put(secret)
	n, _ := get[*model.Node](w, "n1")
	n = model.Clone(n)
	n.Properties = map[string]string{"luks": "correct-horse-battery"}
	n.Labels = map[string]string{"planted": secret.Value}
	b := state.NewTxn("admin/anna", "node n1: she wrote "+secret.Value+" and "+base64.StdEncoding.EncodeToString(cluster.CAKey)+" here").Put(n)
	txn, err := b.Txn()
	if err == nil {
		_, err = w.Propose(w.ctx, txn)
	}
	if err != nil {
		t.Fatal(err)
	}
	files, missing := bundled(t, w, &adminv1.BundleRequest{})
	for name, data := range files {
		for _, planted := range [][]byte{
			[]byte(secret.Value), []byte("correct-horse-battery"), w.sealed.Reveal(), cluster.CAKey, []byte(base64.StdEncoding.EncodeToString(cluster.CAKey)),
		} {
			if bytes.Contains(data, planted) {
				t.Errorf("%s holds %q", name, planted)
			}
		}
	}
	for name, want := range map[string]string{
		"cluster/events.jsonl": "she wrote [removed] and", "state/nodes.jsonl": "luks", "coordinator/request.json": "admin/anna",
	} {
		if !bytes.Contains(files[name], []byte(want)) {
			t.Errorf("%s does not hold %q: %s", name, want, files[name])
		}
	}
	if missing["nodes/n1"] != collect.ErrNoSession.Error() {
		t.Errorf("missing: %v", missing)
	}
}

func TestABundleOfUnknownNodesIsRefused(t *testing.T) {
	w := newWorld(t)
	w.Secrets = func() [][]byte { return nil }
	err := (&support{api: w.api}).Bundle(&adminv1.BundleRequest{Nodes: []string{"n9"}}, gathered[adminv1.BundlePart](w.ctx))
	if !errors.Is(err, model.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestOneBundleAtATime(t *testing.T) {
	w := newWorld(t)
	s := &support{api: w.api}
	s.under.Lock()
	if err := s.Bundle(&adminv1.BundleRequest{}, gathered[adminv1.BundlePart](w.ctx)); !errors.Is(err, model.ErrBusy) {
		t.Errorf("got %v, want that it is busy", err)
	}
}
