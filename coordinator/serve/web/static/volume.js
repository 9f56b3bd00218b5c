// The page of a volume: its replicas and links in a drawing, and the same in tables.
import { h, keyed, s, text } from "./dom.js";
import { badge, glyph } from "./states.js";
import { bytes, moment, percent } from "./format.js";
import { db, events } from "./store.js";
import { diskState, draw as drawVolume, linksOf, linkState } from "./drawing.js";

// behind is how far the copy is that is furthest behind; null when nothing is copied.
export const behind = (v) => (v.replicas ?? []).reduce((least, r) => (r.sync === undefined || (least !== null && least <= r.sync) ? least : r.sync), null);

// bar shows how far something is.
export const bar = (p, what) => s("svg", { class: "progress", viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img", "aria-label": `${what}: ${percent(p)}` },
  s("rect", { class: "rest", width: 100, height: 6 }), s("rect", { class: "done", width: p, height: 6 }));

// progress is what is under way with a volume.
export function progress(v) {
  const p = behind(v), change = v.changes?.[0];
  const at = change?.steps?.find((step) => step.status !== "Completed");
  return h("span", { class: "why" }, p === null ? [] : [bar(p, "copied"), " ", percent(p), " "], change ? change.title + (at ? ": " + at.name : "") : p === null ? v.message : `copied; ${v.upToDate} of ${v.wanted} copies are up to date`);
}

function facts(v) {
  const none = (n) => (n === undefined ? "not known" : String(n));
  return [
    ["Size", bytes(v.size) + (v.devices > 1 ? ` in ${v.devices} devices` : "")], ["Class", v.class], ["Layout", v.layout || "–"],
    ["Copies up to date", `${v.upToDate} of ${v.wanted}`],
    ["Members that may fail", none(v.ftt)], ["Copies that may be lost", none(v.gmdr)],
    ["Quorum", v.quorum ? `${v.quorum}, with ${v.minimum} up to date` : "off"], 
    ["In use on", (v.attachments ?? []).map((a) => a.node + (a.granted ? "" : " (waiting)")).join(", ") || "no node"],
    ...(v.sole === undefined ? [] : [["Went on alone", `replica ${v.sole}`]]),
  ];
}

const row = (...cells) => h("tr", null, cells.map((c, i) => h(i ? "td" : "th", i ? null : { scope: "row" }, c)));
const head = (...names) => h("thead", null, h("tr", null, names.map((n) => h("th", { scope: "col" }, n))));
// Ready only repeats the first of the others.
const said = (conditions) => (conditions ?? []).filter((c, _, all) => c.type !== "Ready" || all.length === 1).map((c) => h("div", { class: "condition" }, `${c.type} is ${c.status}`, c.message ? `: ${c.message}` : ""));

const replicaRow = (r) => row(String(r.id), r.node || "no node yet", r.type,
  [glyph(diskState(r)), " ", r.disk, r.sync === undefined ? "" : `, ${percent(r.sync)} copied`],
  r.role + (r.opener ? `, open by ${r.opener}` : ""), r.vg ? r.vg + (r.thin ? "/" + r.thin : "") : "–", r.deleting ? ["is being removed", said(r.conditions)] : said(r.conditions));

const linkRow = (l) => row(`${l.a.id} and ${l.b.id}`, `${l.a.node || "–"} and ${l.b.node || "–"}`, [glyph(linkState(l)), " ", l.connection],
  l.replication || "–", l.sync === null ? "–" : [bar(l.sync, "copied"), " ", percent(l.sync)], l.outOfSync ? bytes(l.outOfSync) : "–");

const step = (t) => h("li", { class: "step" }, glyph(t.status === "Completed" ? "ready" : t.status === "Active" ? "syncing" : "stopped"), ` ${t.name}: ${t.status.toLowerCase()}`, t.message ? ` (${t.message})` : "");

const change = (t) => h("li", null, h("p", null, h("b", null, t.title), " since ", moment(t.started)), h("ol", { class: "steps" }, (t.steps ?? []).map(step)));

export function volumePage(root, name) {
  const title = h("h1", null, name), state = h("p", { class: "state", role: "status" }), dl = h("dl", { class: "facts tight" });
  const picture = h("div", { class: "picture" }), replicas = h("tbody"), links = h("tbody"), changes = h("ul", { class: "list plain" }), conditions = h("div"), told = h("ul", { class: "list log wide-log" });
  const section = (id, label, ...what) => h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, label), what);
  const wide = (label, table) => h("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, table);
  const changing = section("changes-head", "In progress", changes), warned = section("conditions-head", "Conditions that are not met", conditions);
  const happened = section("happened-head", "Latest events", told);
  const whole = h("div", { class: "volume" }, dl, section("drawing-head", "Replicas and links", picture,
    h("h3", null, "Replicas"), wide("Replicas", h("table", null, head("Id", "Node", "Type", "Disk", "Role", "Place", "What is missing"), replicas)),
    h("h3", null, "Links"), wide("Links", h("table", null, head("Between", "Nodes", "Connection", "Replication", "Copied", "Out of sync"), links))), changing, warned, happened);
  root.append(h("p", { class: "crumb" }, h("a", { href: "#/volumes" }, "Volumes")), h("header", { class: "head" }, title), state, whole);
  let before = null;

  function draw() {
    const v = db.volume.get(name);
    whole.hidden = !v;
    const mine = events().filter((e) => e.objects?.some((o) => o.split("/")[1] === name)).slice(0, 12);
    happened.hidden = !mine.length;
    keyed(told, mine, (e) => e.key, () => 0, (e) => h("li", null, moment(e.time), h("span", { class: "why" }, e.cause), h("span", { class: "actor" }, e.actor)));
    if (v === before && v) return;
    before = v;
    if (!v) return void text(state, "There is no volume of this name.");
    keyed(state, [v], () => name, () => v.state + v.message, () => h("span", null, badge(v.state), " ", h("span", { class: "why" }, v.message || "")));
    keyed(dl, facts(v), ([what]) => what, String, ([what, value]) => h("div", null, h("dt", null, what), h("dd", null, value)));
    picture.replaceChildren(drawVolume(v));
    keyed(replicas, v.replicas ?? [], (r) => r.id, JSON.stringify, replicaRow);
    keyed(links, linksOf(v), (l) => l.a.id + "-" + l.b.id, JSON.stringify, linkRow);
    changing.hidden = !v.changes?.length;
    keyed(changes, v.changes ?? [], (t) => t.title + t.started, JSON.stringify, change);
    warned.hidden = !v.conditions?.length;
    conditions.replaceChildren(...said(v.conditions));
  }
  return { title: name, draw };
}
