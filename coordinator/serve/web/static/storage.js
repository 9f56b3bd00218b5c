// Capacity: each volume group and thin pool, with what is reserved, what is somebody else's, and what is left.
import { h, keyed, s, text } from "./dom.js";
import { badge, glyph } from "./states.js";
import { bytes, percent, share } from "./format.js";
import { db, lvgs, spaceOn } from "./store.js";

// shareBar draws the parts of a place. What a thin pool promises may be more than it has: a line stands where it ends.
function shareBar(p) {
  const whole = Math.max(p.size, p.limit + p.foreign, p.reserved + p.foreign, 1), x = (n) => (200 * n) / whole;
  const ends = p.limit + p.foreign > p.size && p.size > 0;
  return s("svg", { class: "share", viewBox: "0 0 200 14", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "rest", width: 200, height: 14 }),
    s("rect", { class: p.reserved > p.limit ? "much" : "some", width: x(p.reserved), height: 14 }),
    s("rect", { class: "foreign", x: x(p.reserved), width: x(p.foreign), height: 14, fill: "url(#hatch)" }),
    ends && s("rect", { class: "end", x: x(p.size) - 0.5, width: 1, height: 14 }));
}

// hatch is the pattern of what is not ours: it is told by more than colour.
const hatch = () => s("svg", { class: "unseen", "aria-hidden": "true" }, s("defs", null,
  s("pattern", { id: "hatch", width: 4, height: 4, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("rect", { class: "ground", width: 4, height: 4 }), s("rect", { class: "line", width: 2, height: 4 }))));

const optional = (p) => (p === undefined ? "–" : percent(p));

const rowOf = ({ g, p }) => h("tr", null,
  h("td", null, g.node), h("th", { scope: "row", class: "name" }, g.vg + (p.thin ? "/" + p.thin : "")), h("td", null, p.thin ? "thin pool" : "volume group"),
  h("td", { class: "bars" }, shareBar(p)),
  h("td", { class: "number" }, bytes(p.reserved)), h("td", { class: "number" }, bytes(p.foreign)), h("td", { class: "number" }, bytes(p.free)), h("td", { class: "number" }, bytes(p.limit)),
  h("td", { class: "number" }, percent(share(p.reserved, p.limit))), h("td", { class: "number" }, optional(p.data)), h("td", { class: "number" }, optional(p.metadata)),
  h("td", null, notes(g, p)));

function notes(g, p) {
  const words = [p.stopped && `growth stopped: ${p.stopped}`, g.unschedulable && "cordoned", ...(g.conditions ?? []).map((c) => c.message || `${c.type} is ${c.status}`)].filter(Boolean);
  if (!words.length) return db.node.get(g.node)?.ready === false ? badge("unknown") : "";
  return [glyph("degraded"), " " + words.join("; ")];
}

export function storage(root) {
  const body = h("tbody"), sum = h("p", { class: "sum" });
  const heads = ["Node", "Place", "Kind", "Share", "Reserved", "Foreign", "Free", "Limit", "Full", "Data", "Metadata", "Notes"];
  const numbers = new Set(heads.slice(4, 11));
  root.append(h("header", { class: "head" }, h("h1", null, "Storage"), sum), hatch(),
    h("ul", { class: "legend" }, [["some", "reserved by volumes"], ["foreign", "foreign: not made by rvol"], ["rest", "free"], ["end", "where a thin pool ends: what lies beyond is promised"]]
      .map(([name, words]) => h("li", null, s("svg", { class: "key", width: 14, height: 14, "aria-hidden": "true" },
        s("rect", { class: name, x: name === "end" ? 6 : 0, width: name === "end" ? 2 : 14, height: 14, fill: name === "foreign" ? "url(#hatch)" : null })), words))),
    h("div", { class: "scroll", role: "region", "aria-label": "Capacity", tabindex: "0" },
      h("table", { class: "storage" }, h("thead", null, h("tr", null, heads.map((t) => h("th", { scope: "col", class: numbers.has(t) ? "number" : null }, t)))), body)));

  function draw() {
    const all = lvgs().flatMap((g) => g.spaces.map((p) => ({ g, p })));
    const { limit, reserved } = spaceOn();
    text(sum, all.length ? `${bytes(reserved)} of ${bytes(limit)} reserved, in ${all.length === 1 ? "one place" : all.length + " places"}` : "No volume group is offered: see rvol lvg create");
    keyed(body, all, ({ g, p }) => g.name + "/" + (p.thin ?? ""), ({ g, p }) => JSON.stringify(p) + g.unschedulable + JSON.stringify(g.conditions ?? 0) + db.node.get(g.node)?.ready, rowOf);
  }
  return { title: "Storage", draw };
}
