// The first page: is all well, what is not, what is under way, and where everything is.
import { h, keyed, text } from "./dom.js";
import { STATES, badge, glyph, inTrouble, isBusy, stateOf } from "./states.js";
import { bytes, count, many, moment, percent, share } from "./format.js";
import { db, events, nodes, spaceOn, states, volumes, zones } from "./store.js";
import { cardSign, mapTable, nodeCard } from "./map.js";
import { progress } from "./volume.js";

const shownTroubles = 8, shownBusy = 6, shownEvents = 8;

const link = (volume) => h("a", { class: "name", href: "#/volume/" + encodeURIComponent(volume.name) }, volume.name);

// headline is the state of the cluster in a sentence.
function headline() {
  const bad = volumes().filter(inTrouble).length, down = nodes().filter((n) => !n.ready).length;
  if (db.cluster?.reconciling) return "The cluster is reconciling";
  if (!volumes().length && !nodes().length) return "There is nothing here yet";
  if (bad) return `${count(bad)} of ${many(volumes().length, "volume")} ${bad === 1 ? "needs" : "need"} attention`;
  if (down) return `${count(down)} of ${many(nodes().length, "node")} ${down === 1 ? "is" : "are"} not ready`;
  return volumes().length === 1 ? "The one volume is well" : `All ${count(volumes().length)} volumes are well`;
}

function facts() {
  const ready = nodes().filter((n) => n.ready).length, { limit, reserved } = spaceOn();
  const members = db.cluster?.members ?? [], well = members.filter((m) => !m.conditions?.length).length;
  return [
    ["Nodes ready", `${count(ready)} of ${count(nodes().length)}`, ready === nodes().length],
    ["Coordinators", `${count(well)} of ${count(members.length)}`, well === members.length],
    ["Leader", db.cluster?.leader || "none", Boolean(db.cluster?.leader)],
    ["Reserved", limit ? `${percent(share(reserved, limit))} of ${bytes(limit)}` : "no space", share(reserved, limit) < 90],
  ];
}

const trouble = (v) => h("li", null, badge(v.state), link(v), h("span", { class: "why" }, v.message || ""));

const busy = (v) => h("li", null, badge(v.state), link(v), progress(v));

const happened = (e) => h("li", null, moment(e.time), h("span", { class: "why" }, e.cause), h("span", { class: "actor" }, e.actor));

export function overview(root) {
  const title = h("h1"), dl = h("dl", { class: "facts" }), sums = h("ul", { class: "sums" });
  const troubles = h("ul", { class: "list" }), moreTroubles = h("p", { class: "more" }), work = h("ul", { class: "list" }), moreWork = h("p", { class: "more" });
  const told = h("ul", { class: "list log" }), map = h("div", { class: "zones" }), behind = h("div");
  const table = h("details", null, h("summary", null, "The map as a table"), behind);
  const troubleBox = h("section", { class: "panel", "aria-labelledby": "trouble-head" }, h("h2", { id: "trouble-head" }, "Needs attention"), troubles, moreTroubles);
  const workBox = h("section", { class: "panel", "aria-labelledby": "work-head" }, h("h2", { id: "work-head" }, "In progress"), work, moreWork);
  root.className = "overview";
  root.append(
    h("header", { class: "head" }, title, dl), sums,
    h("div", { class: "columns" },
      h("section", { class: "panel map", "aria-labelledby": "map-head" }, h("h2", { id: "map-head" }, "Where everything is"), map, table),
      h("div", { class: "side" }, troubleBox, workBox,
        h("section", { class: "panel", "aria-labelledby": "events-head" }, h("h2", { id: "events-head" }, "Latest events"), told, h("p", { class: "more" }, h("a", { href: "#/events" }, "All events"))))));
  table.addEventListener("toggle", () => draw());

  function draw() {
    text(title, headline());
    keyed(dl, facts(), ([name]) => name, String, ([name, value, good]) => h("div", { class: good ? "" : "off" }, h("dt", null, name), h("dd", null, value)));
    keyed(sums, STATES.filter(({ name }) => name === "ready" || states().get(name)), (state) => state.name, ({ name }) => states().get(name) ?? 0,
      ({ name }) => h("li", null, h("a", { href: "#/volumes?state=" + name, class: "is-" + name }, glyph(name, 12), h("b", null, count(states().get(name) ?? 0)), name)));

    const bad = volumes().filter(inTrouble).sort((a, b) => stateOf(a).rank - stateOf(b).rank);
    troubleBox.hidden = !bad.length;
    keyed(troubles, bad.slice(0, shownTroubles), (v) => v.name, (v) => v.state + v.message, trouble);
    keyed(moreTroubles, bad.length > shownTroubles ? [bad.length] : [], () => "more", String, (n) => h("a", { href: "#/volumes?state=trouble" }, `All ${count(n)}`));

    const active = volumes().filter(isBusy);
    workBox.hidden = !active.length;
    keyed(work, active.slice(0, shownBusy), (v) => v.name, (v) => v, busy);
    keyed(moreWork, active.length > shownBusy ? [active.length] : [], () => "more", String, (n) => h("a", { href: "#/volumes?state=busy" }, `All ${count(n)}`));

    keyed(told, events().slice(0, shownEvents), (e) => e.key, () => 0, happened);
    keyed(map, zones(), ([zone]) => zone, ([, list]) => list.length, ([zone]) => h("section", { class: "zone", "aria-label": "zone " + (zone || "none") },
      h("h3", null, zone ? "Zone " + zone : "No zone"), h("div", { class: "nodes" })));
    zones().forEach(([, list], i) => keyed(map.children[i].querySelector(".nodes"), list, (n) => n.name, cardSign, nodeCard));
    if (table.open) behind.replaceChildren(mapTable(zones()));
  }
  return { title: "Overview", draw };
}

