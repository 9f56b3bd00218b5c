// The states of a volume, each with a shape of its own: nothing is told by colour alone.
import { h, s } from "./dom.js";

// Worst first. Each shape is drawn in a square of 10 by 10, with relative steps only, so that it may stand anywhere.
export const STATES = [
  { name: "unavailable", trouble: true, path: "m2 .5 3 3 3-3 1.5 1.5-3 3 3 3-1.5 1.5-3-3-3 3-1.5-1.5 3-3-3-3z" },
  { name: "suspended", trouble: true, path: "m1.5 .5h2.5v9h-2.5zm4.5 0h2.5v9h-2.5z" },
  { name: "degraded", trouble: true, path: "m5 .5 4.7 9h-9.4z" },
  { name: "unknown", trouble: true, path: "m5 0 5 5-5 5-5-5zm0 2.5-2.5 2.5 2.5 2.5 2.5-2.5z" },
  { name: "syncing", busy: true, path: "m5 .5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 1 1 0-9zm0 2a2.5 2.5 0 1 0 0 5z" },
  { name: "forming", busy: true, path: "m3.8 .5h2.4v3.3h3.3v2.4h-3.3v3.3h-2.4v-3.3h-3.3v-2.4h3.3z" },
  { name: "deleting", busy: true, path: "m.5 3.8h9v2.4h-9z" },
  { name: "stopped", path: "m1 1h8v8h-8zm1.5 1.5v5h5v-5z" },
  { name: "ready", path: "m1 1h8v8h-8z" },
];

const byName = new Map(STATES.map((state, rank) => [state.name, { ...state, rank }]));
const strange = { name: "unknown", trouble: true, rank: 3, path: byName.get("unknown").path };

// stateOf is the state of a volume as it is drawn.
export const stateOf = (volume) => byName.get(volume.state) ?? strange;

// inTrouble says that somebody should look.
export const inTrouble = (volume) => Boolean(stateOf(volume).trouble);

// isBusy says that something is under way.
export const isBusy = (volume) => Boolean(stateOf(volume).busy || volume.changes?.length);

// glyph is the shape of a state; the word stands beside it.
export const glyph = (name, size = 10) => s("svg", { class: "glyph is-" + name, viewBox: "0 0 10 10", width: size, height: size, "aria-hidden": "true" },
  s("path", { d: (byName.get(name) ?? strange).path, "fill-rule": "evenodd" }));

// badge is a state in shape and word.
export const badge = (name) => h("span", { class: "badge is-" + name }, glyph(name), name);

// asState is which of the states a disk, a node or a condition looks like.
export const asState = (good, known = true) => (good ? "ready" : known ? "degraded" : "unknown");
