// The map: what each node of a zone holds. A few replicas are links by name; many are a grid of shapes, which is
// drawn as one path for each state, with a table behind it.
import { h, s } from "./dom.js";
import { STATES, glyph, stateOf } from "./states.js";
import { bytes, count, many, percent, share } from "./format.js";
import { replicasOn, spaceOn } from "./store.js";

const pitch = 11, named = 18;

const href = (volume) => "#/volume/" + encodeURIComponent(volume.name);

// health is a node in a state's shape and a word.
export function health(node) {
  if (node.fenced) return ["suspended", "fenced"];
  if (!node.ready) return ["unavailable", node.reason ? `not ready: ${node.reason}` : "not ready"];
  if (!node.connected) return ["unknown", "no session"];
  if (node.unschedulable) return ["stopped", "cordoned"];
  return ["ready", "ready"];
}

// tally counts replicas by the state of their volumes, worst first.
export function tally(held) {
  const n = new Map(STATES.map((state) => [state.name, 0]));
  for (const { volume } of held) n.set(stateOf(volume).name, n.get(stateOf(volume).name) + 1);
  return [...n].filter(([, k]) => k > 0);
}

const words = (held) => tally(held).map(([name, n]) => `${count(n)} ${name}`).join(", ") || "nothing";

// grid draws many replicas. Who points at one sees its name, and may go there; everybody else has the list of volumes.
function grid(node, held) {
  const columns = held.length > 400 ? 40 : 25, rows = Math.ceil(held.length / columns), paths = new Map();
  held.forEach(({ volume }, i) => {
    const state = stateOf(volume);
    const d = `M${(i % columns) * pitch} ${Math.floor(i / columns) * pitch}${state.path}`;
    paths.set(state.name, (paths.get(state.name) ?? "") + d);
  });
  const drawing = s("svg", {
    class: "grid", viewBox: `0 0 ${columns * pitch} ${rows * pitch}`, role: "img", "aria-label": `${node.name} holds ${many(held.length, "replica")}: ${words(held)}`,
  }, [...paths].map(([name, d]) => s("path", { class: "is-" + name, d, "fill-rule": "evenodd" })));
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const at = (e) => {
    const box = drawing.getBoundingClientRect(), scale = (columns * pitch) / box.width;
    const x = Math.floor(((e.clientX - box.left) * scale) / pitch), y = Math.floor(((e.clientY - box.top) * scale) / pitch);
    return held[y * columns + x];
  };
  drawing.addEventListener("mousemove", (e) => {
    const one = at(e);
    tip.hidden = !one;
    if (!one) return;
    tip.textContent = `${one.volume.name}: ${one.volume.state}`;
    const box = drawing.parentElement.getBoundingClientRect();
    tip.style.left = `${Math.min(e.clientX - box.left + 12, box.width - 160)}px`;
    tip.style.top = `${e.clientY - box.top + 16}px`;
  });
  drawing.addEventListener("mouseleave", () => { tip.hidden = true; });
  drawing.addEventListener("click", (e) => { const one = at(e); if (one) location.hash = href(one.volume); });
  return h("div", { class: "gridbox" }, drawing, tip);
}

const chip = ({ volume, replica }) => h("li", null, h("a", { class: "chip is-" + stateOf(volume).name, href: href(volume) },
  glyph(volume.state), h("span", { class: "name" }, volume.name),
  h("span", { class: "what" }, replica.role === "Primary" ? "in use" : replica.type === "Diskful" ? volume.state === "ready" ? "" : volume.state : replica.type.toLowerCase())));

// usage is how full a node is, in a bar and in words.
function usage(node) {
  const { limit, reserved } = spaceOn(node.name);
  if (!limit) return h("p", { class: "usage" }, "offers no space");
  const p = Math.min(100, share(reserved, limit));
  return h("p", { class: "usage" },
    s("svg", { class: "meter", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect", { class: "rest", width: 100, height: 4 }), s("rect", { class: p > 85 ? "much" : "some", width: p, height: 4 })),
    `${percent(p)} of ${bytes(limit)} reserved`);
}

// nodeCard draws a node.
export function nodeCard(node) {
  const held = replicasOn().get(node.name) ?? [], [state, word] = health(node);
  return h("section", { class: "node", "aria-label": "node " + node.name },
    h("h4", null, h("a", { href: "#/volumes?node=" + encodeURIComponent(node.name) }, node.name), h("span", { class: "badge is-" + state }, glyph(state), word)),
    (node.conditions ?? []).filter((c) => c.status === "False").map((c) => h("p", { class: "warns" }, glyph("degraded"), c.message || `${c.type} is ${c.status}`)),
    held.length === 0 ? h("p", { class: "empty" }, "holds nothing")
      : held.length <= named ? h("ul", { class: "chips" }, held.map(chip)) : grid(node, held),
    h("p", { class: "held" }, many(held.length, "replica"), tally(held).filter(([name]) => name !== "ready").map(([name, n]) => h("span", { class: "few", title: name }, glyph(name), " ", count(n), h("span", { class: "unseen" }, " " + name)))),
    usage(node));
}

// cardSign says whether a node has to be drawn anew.
export function cardSign(node) {
  const held = replicasOn().get(node.name) ?? [], { limit, reserved } = spaceOn(node.name);
  return [node.ready, node.reason, node.connected, node.fenced, node.unschedulable, JSON.stringify(node.conditions ?? 0), limit, reserved,
    ...held.map(({ volume, replica }) => volume.name + volume.state + replica.role)].join();
}

// mapTable is the map in words.
export const mapTable = (zones) => h("table", null,
  h("thead", null, h("tr", null, ["Zone", "Node", "State", "Replicas", "Their volumes", "Reserved"].map((t) => h("th", { scope: "col" }, t)))),
  h("tbody", null, zones.flatMap(([zone, nodes]) => nodes.map((node) => {
    const held = replicasOn().get(node.name) ?? [], { limit, reserved } = spaceOn(node.name);
    return h("tr", null, h("td", null, zone || "none"), h("th", { scope: "row" }, node.name), h("td", null, health(node)[1]),
      h("td", { class: "number" }, count(held.length)), h("td", null, words(held)), h("td", null, `${bytes(reserved)} of ${bytes(limit)}`));
  }))));
