// The list of volumes: found, sorted and shown a page at a time.
import { h, keyed, text } from "./dom.js";
import { STATES, badge, inTrouble, isBusy, stateOf } from "./states.js";
import { bytes, count, many } from "./format.js";
import { nodes, volumes } from "./store.js";
import { behind } from "./volume.js";

const size = 100;

const where = (v) => (v.replicas ?? []).filter((r) => r.type === "Diskful").map((r) => r.node || "–");
const users = (v) => (v.attachments ?? []).map((a) => a.node);

const columns = [
  { head: "State", order: (v) => stateOf(v).rank, cell: (v) => badge(v.state) },
  { head: "Volume", order: null, cell: (v) => h("a", { class: "name", href: "#/volume/" + encodeURIComponent(v.name) }, v.name), row: true },
  { head: "Copies", order: (v) => v.upToDate - v.wanted, cell: (v) => `${v.upToDate} of ${v.wanted}${behind(v) === null ? "" : `, ${Math.floor(behind(v))} %`}`, number: true },
  { head: "Size", order: (v) => v.size, cell: (v) => bytes(v.size), number: true },
  { head: "Class", order: (v) => v.class, cell: (v) => v.class },
  { head: "Where", order: (v) => where(v).join(), cell: (v) => where(v).join(", ") },
  { head: "In use on", order: (v) => users(v).join(), cell: (v) => users(v).join(", ") || "–" },
  { head: "Why", order: null, cell: (v) => v.message || "", wide: true },
];

const compare = (a, b) => (typeof a === "number" ? a - b : a < b ? -1 : a > b ? 1 : 0);

// wanted says whether a volume is among those that are asked for.
function wanted(v, { find, state, node }) {
  return (!find || v.name.includes(find) || v.class.includes(find))
    && (!state || (state === "trouble" ? inTrouble(v) : state === "busy" ? isBusy(v) : v.state === state))
    && (!node || (v.replicas ?? []).some((r) => r.node === node));
}

export function volumeList(root, _, query) {
  const asked = { find: query.get("find") ?? "", state: query.get("state") ?? "", node: query.get("node") ?? "" };
  let by = 1, down = false, page = 0;
  const title = h("h1", null, "Volumes"), sum = h("p", { class: "sum", role: "status" });
  const find = h("input", { id: "find", type: "search", autocomplete: "off", spellcheck: "false", value: asked.find });
  const state = h("select", { id: "state" }, h("option", { value: "" }, "any"), h("option", { value: "trouble" }, "needs attention"), h("option", { value: "busy" }, "in progress"),
    STATES.map(({ name }) => h("option", { value: name }, name)));
  const node = h("select", { id: "node" }, h("option", { value: "" }, "any"), nodes().map((n) => h("option", { value: n.name }, n.name)));
  state.value = asked.state;
  node.value = asked.node;
  const heads = columns.map((c, i) => h("th", { scope: "col", class: c.number ? "number" : "" }, c.wide ? c.head
    : h("button", { type: "button", onclick: () => { down = by === i && !down; by = i; page = 0; draw(); } }, c.head)));
  const body = h("tbody"), before = h("button", { type: "button", onclick: () => turn(-1) }, "Previous"), after = h("button", { type: "button", onclick: () => turn(1) }, "Next"), place = h("span");
  const pager = h("nav", { class: "pager", "aria-label": "Pages of the list" }, before, place, after);
  root.append(h("header", { class: "head" }, title, sum),
    h("search", { class: "filter" }, h("label", { for: "find" }, "Find", find), h("label", { for: "state" }, "State", state), h("label", { for: "node" }, "Node", node)),
    h("div", { class: "scroll", role: "region", "aria-label": "Volumes", tabindex: "0" }, h("table", { class: "volumes" }, h("thead", null, h("tr", null, heads)), body)), pager);

  const ask = () => {
    Object.assign(asked, { find: find.value.trim(), state: state.value, node: node.value });
    page = 0;
    const q = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
    history.replaceState(null, "", "#/volumes" + (q.size ? "?" + q : ""));
    draw();
  };
  for (const control of [find, state, node]) control.addEventListener("input", ask);

  function turn(by) {
    page += by;
    draw();
    root.querySelector(".scroll").focus();
    scrollTo(0, 0);
  }

  function draw() {
    const all = volumes().filter((v) => wanted(v, asked)), order = columns[by].order;
    if (order) all.sort((a, b) => compare(order(a), order(b)));
    if (down) all.reverse();
    const pages = Math.max(1, Math.ceil(all.length / size));
    page = Math.max(0, Math.min(page, pages - 1));
    heads.forEach((th, i) => (i === by ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort")));
    keyed(body, all.slice(page * size, (page + 1) * size), (v) => v.name, (v) => v, (v) => h("tr", null,
      columns.map((c) => h(c.row ? "th" : "td", { scope: c.row && "row", class: [c.number && "number", c.wide && "wide"].filter(Boolean).join(" ") || null }, c.cell(v)))));
    text(sum, all.length === volumes().length ? many(all.length, "volume") : `${count(all.length)} of ${many(volumes().length, "volume")}`);
    pager.hidden = pages === 1;
    before.disabled = page === 0;
    after.disabled = page === pages - 1;
    text(place, `${count(page * size + 1)} to ${count(Math.min(all.length, (page + 1) * size))} of ${count(all.length)}`);
  }
  return { title: "Volumes", draw };
}
