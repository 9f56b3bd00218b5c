// The drawing of a volume: a box for each replica, a line for each link.
import { s } from "./dom.js";
import { glyph } from "./states.js";
import { percent } from "./format.js";

const width = 960, box = { w: 236, h: 108 };

// diskState is the shape in which a replica is drawn.
export function diskState(r) {
  if (r.sync !== undefined) return "syncing";
  if (r.type !== "Diskful") return r.disk === "Unknown" ? "unknown" : "ready";
  return { UpToDate: "ready", Unknown: "unknown", DUnknown: "unknown", Inconsistent: "degraded", Outdated: "degraded", Consistent: "degraded", Attaching: "forming", Negotiating: "forming" }[r.disk] ?? "unavailable";
}

// linkState is the shape in which a link is drawn.
export function linkState(l) {
  if (l.sync !== null) return "syncing";
  return { Connected: "ready", Unknown: "unknown", StandAlone: "unavailable" }[l.connection] ?? "degraded";
}

// linksOf are the links that members tell of, each with what its worse end says.
export function linksOf(v) {
  const byId = new Map((v.replicas ?? []).map((r) => [r.id, r])), links = new Map();
  for (const a of byId.values())
    for (const p of a.peers ?? []) {
      const b = byId.get(p.id);
      if (!b) continue;
      const [first, second] = a.id < b.id ? [a, b] : [b, a], key = first.id + "-" + second.id, old = links.get(key);
      const mine = { a: first, b: second, connection: p.connection, replication: p.replication ?? "", sync: p.sync ?? null, outOfSync: p.outOfSync ?? 0,
        to: p.replication === "SyncSource" ? b.id : p.replication === "SyncTarget" ? a.id : null };
      links.set(key, old ? worse(old, mine) : mine);
    }
  return [...links.values()].sort((x, y) => x.a.id - y.a.id || x.b.id - y.b.id);
}

function worse(x, y) {
  const out = { ...(x.connection === "Connected" ? y : x) }, syncing = [x, y].filter((l) => l.sync !== null);
  if (syncing.length) Object.assign(out, { sync: Math.min(...syncing.map((l) => l.sync)), replication: syncing[0].replication, to: syncing[0].to ?? syncing[1]?.to ?? null });
  out.outOfSync = Math.max(x.outOfSync, y.outOfSync);
  return out;
}

// places are the middles of the boxes: side by side, or on an ellipse.
function places(n) {
  if (n === 1) return { height: 140, at: [[width / 2, 70]] };
  if (n === 2) return { height: 140, at: [[box.w / 2 + 60, 70], [width - box.w / 2 - 60, 70]] };
  if (n === 3) return { height: 320, at: [[box.w / 2 + 60, 66], [width - box.w / 2 - 60, 66], [width / 2, 254]] };
  const height = n < 6 ? 430 : 620, at = [];
  for (let i = 0; i < n; i++) {
    const turn = (2 * Math.PI * i) / n - Math.PI / 2 + (n % 2 ? 0 : Math.PI / n);
    at.push([width / 2 + (width / 2 - box.w / 2 - 20) * Math.cos(turn), height / 2 + (height / 2 - box.h / 2 - 12) * Math.sin(turn)]);
  }
  return { height, at };
}

const label = (x, y, words, attrs) => s("text", { x, y, ...attrs }, words);

const placed = (name, x, y, size = 12) => {
  const g = glyph(name, size);
  g.setAttribute("x", x);
  g.setAttribute("y", y);
  return g;
};

function replicaBox(r, [cx, cy]) {
  const x = cx - box.w / 2, y = cy - box.h / 2, state = diskState(r), using = r.role === "Primary";
  return s("g", { class: `replica is-${state}${r.type === "Diskful" ? "" : " diskless"}${using ? " primary" : ""}` },
    s("rect", { class: "frame", x, y, width: box.w, height: box.h, rx: 6 }),
    label(x + 14, y + 26, r.node || "no node yet", { class: "node-name" }),
    label(x + box.w - 14, y + 26, `${r.type} ${r.id}`, { class: "quiet", "text-anchor": "end" }),
    placed(state, x + 14, y + 43), label(x + 32, y + 53, r.disk + (r.sync === undefined ? "" : `, ${percent(r.sync)}`), { class: "disk" }),
    label(x + 14, y + 75, using ? "Primary: in use" : r.role, { class: using ? "strong" : "quiet" }),
    label(x + box.w - 14, y + 75, r.vg ? r.vg + (r.thin ? "/" + r.thin : "") : "no disk", { class: "quiet", "text-anchor": "end" }),
    s("rect", { class: "rest", x: x + 14, y: y + 88, width: box.w - 28, height: 5, rx: 2.5 }),
    r.type === "Diskful" && s("rect", { class: "done", x: x + 14, y: y + 88, width: ((box.w - 28) * (r.sync ?? (r.disk === "UpToDate" ? 100 : 0))) / 100, height: 5, rx: 2.5 }));
}

// edge is where the line from the middle of a box leaves it.
function edge([x, y], [tx, ty]) {
  const dx = tx - x, dy = ty - y, k = Math.min(dx ? (box.w / 2 + 4) / Math.abs(dx) : Infinity, dy ? (box.h / 2 + 4) / Math.abs(dy) : Infinity);
  return [x + dx * k, y + dy * k];
}

function linkLine(l, from, to) {
  const [x1, y1] = edge(from, to), [x2, y2] = edge(to, from), state = linkState(l), mx = (x1 + x2) / 2, my = (y1 + y2) / 2;
  const words = l.sync === null ? l.connection : `${l.replication} ${percent(l.sync)}`, wide = words.length * 7.5 + 40;
  const toward = l.to === l.a.id ? [x2, y2, x1, y1] : [x1, y1, x2, y2];
  return s("g", { class: "link is-" + state },
    s("line", { x1: toward[0], y1: toward[1], x2: toward[2], y2: toward[3] }),
    s("rect", { class: "plate", x: mx - wide / 2, y: my - 12, width: wide, height: 24, rx: 12 }),
    placed(state, mx - wide / 2 + 10, my - 5, 10), label(mx - wide / 2 + 26, my + 4.500, words));
}

// draw makes the drawing of a volume. It says in a sentence what it shows; tables say all of it.
export function draw(v) {
  const list = v.replicas ?? [], { height, at } = places(list.length), index = new Map(list.map((r, i) => [r.id, i])), links = linksOf(v);
  const says = [...list.map((r) => `replica ${r.id} on ${r.node || "no node"} is ${r.disk}${r.role === "Primary" ? " and in use" : ""}`),
    ...links.map((l) => `${l.a.id} and ${l.b.id}: ${l.connection}${l.sync === null ? "" : `, ${percent(l.sync)} copied`}`)].join("; ");
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${v.name}: ${says || "no replicas"}` },
    links.map((l) => linkLine(l, at[index.get(l.a.id)], at[index.get(l.b.id)])), list.map((r, i) => replicaBox(r, at[i])));
}
