package drbdtest

import (
	"encoding/json"

	"rvol/drbd"
)

// statusJSON prints resources as status --json --verbose --statistics does.
func statusJSON(resources []*resource) []byte {
	all := []map[string]any{}
	for _, r := range resources {
		all = append(all, r.json())
	}
	out, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		panic(err) // plain maps
	}
	return append(out, '\n')
}

func (r *resource) json() map[string]any {
	why := r.frozen()
	devices, connections := []any{}, []any{}
	for _, d := range r.devices() {
		j := map[string]any{
			"volume": d.volume, "minor": d.minor, "disk-state": d.state, "client": d.client,
			"quorum": d.quorum, "size": d.size / 1024,
		}
		if r.node.version.Tools.AtLeast(9, 34, 0) {
			j["open"] = len(d.openers) > 0
		}
		devices = append(devices, j)
	}
	for _, c := range r.connections() {
		connections = append(connections, c.json())
	}
	return map[string]any{
		"name": r.name, "node-id": r.id, "role": r.role, "suspended": why != "no",
		"suspended-user": false, "suspended-no-data": false, "suspended-fencing": false,
		"suspended-quorum": why == "quorum", "force-io-failures": false,
		"write-ordering": "flush", "devices": devices, "connections": connections,
	}
}

func (c *conn) json() map[string]any {
	devices := []any{}
	for _, p := range c.devices() {
		size := int64(0)
		if d := p.device(); d != nil {
			size = d.size
		}
		outOfSync := p.outOfSync().bytes()
		j := map[string]any{
			"volume": p.volume, "replication-state": p.repl, "peer-disk-state": p.disk,
			"peer-client": p.client || p.opts["bitmap"] == "no", "resync-suspended": p.suspension(),
			"out-of-sync": outOfSync / 1024, "percent-in-sync": inSync(size, outOfSync),
		}
		if p.repl.Comparing() {
			j["percent-resync-done"] = p.compared()
		}
		devices = append(devices, j)
	}
	return map[string]any{
		"peer-node-id": c.id, "name": c.name, "connection-state": c.state,
		"congested": false, "peer-role": c.role, "peer_devices": devices,
	}
}

func inSync(size, outOfSync int64) float64 {
	if size == 0 || outOfSync == 0 {
		return 100
	}
	return 100 * float64(size-outOfSync) / float64(size)
}

// mayPromote says that Primary would be granted.
func (r *resource) mayPromote() bool { return r.promotable(drbd.Primary, gently) == nil }
