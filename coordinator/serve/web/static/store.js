// What is known of the cluster. The coordinator tells rows by key; pages read them here, and are drawn anew afterwards.

const order = new Intl.Collator("en", { numeric: true }).compare;

export const db = { cluster: null, trouble: null, node: new Map(), lvg: new Map(), volume: new Map(), event: new Map() };

// cached are lists and sums, made when they are first asked for after a change.
let cached = new Map();
const once = (name, make) => {
  if (!cached.has(name)) cached.set(name, make());
  return cached.get(name);
};

// apply takes a message of the stream.
export function apply({ whole, rows }) {
  if (whole) {
    db.cluster = db.trouble = null;
    for (const kind of ["node", "lvg", "volume", "event"]) db[kind].clear();
  }
  for (const [key, row] of Object.entries(rows)) {
    const slash = key.indexOf("/");
    if (slash < 0) db[key] = row;
    else if (row === null) db[key.slice(0, slash)]?.delete(key.slice(slash + 1));
    else db[key.slice(0, slash)]?.set(key.slice(slash + 1), row);
  }
  cached = new Map();
}

const sorted = (kind) => once(kind, () => [...db[kind].values()].sort((a, b) => order(a.name, b.name)));

export const volumes = () => sorted("volume");
export const nodes = () => sorted("node");
export const lvgs = () => sorted("lvg");

// events are those that are known, newest first.
export const events = () => once("event", () => [...db.event].sort(([a], [b]) => (a < b ? 1 : -1)).map(([key, e]) => ({ key, ...e })));

// zones are the nodes by zone.
export const zones = () => once("zones", () => {
  const out = new Map();
  for (const n of nodes()) out.set(n.zone, [...(out.get(n.zone) ?? []), n]);
  return [...out].sort(([a], [b]) => order(a, b));
});

// replicasOn are the replicas of each node, with their volumes.
export const replicasOn = () => once("on", () => {
  const out = new Map(nodes().map((n) => [n.name, []]));
  for (const volume of volumes())
    for (const replica of volume.replicas ?? []) out.get(replica.node)?.push({ volume, replica });
  return out;
});

// spaceOn sums up the places of a node, or of all: a thin pool's own space is the group's foreign one, and is counted once.
export function spaceOn(node) {
  const sum = { limit: 0, reserved: 0, free: 0 };
  for (const g of lvgs())
    if (!node || g.node === node)
      for (const s of g.spaces) for (const k of Object.keys(sum)) sum[k] += s[k];
  return sum;
}

// states are how many volumes are in each.
export const states = () => once("states", () => {
  const out = new Map();
  for (const v of volumes()) out.set(v.state, (out.get(v.state) ?? 0) + 1);
  return out;
});
