// What happened, newest first.
import { h, keyed, text } from "./dom.js";
import { many, moment } from "./format.js";
import { events } from "./store.js";

const volumeOf = (key) => (/^(volume|volume\.status|replica|attachment)\//.test(key) ? key.split("/")[1] : null);

function about(e) {
  const names = [...new Set((e.objects ?? []).map(volumeOf).filter(Boolean))];
  return names.slice(0, 4).flatMap((n, i) => [i ? ", " : "", h("a", { class: "name", href: "#/volume/" + encodeURIComponent(n) }, n)]).concat(names.length > 4 ? ` and ${names.length - 4} more` : []);
}

const rowOf = (e) => h("tr", null, h("td", { class: "number" }, String(e.index)), h("td", null, moment(e.time)), h("th", { scope: "row", class: "wide" }, e.cause), h("td", null, e.actor), h("td", null, about(e)));

export function eventList(root) {
  const body = h("tbody"), sum = h("p", { class: "sum" }), find = h("input", { id: "find", type: "search", autocomplete: "off", spellcheck: "false" });
  root.append(h("header", { class: "head" }, h("h1", null, "Events"), sum),
    h("search", { class: "filter" }, h("label", { for: "find" }, "Find", find)),
    h("div", { class: "scroll", role: "region", "aria-label": "Events", tabindex: "0" }, h("table", { class: "events" },
      h("thead", null, h("tr", null, ["Index", "Time", "What", "Who", "Volumes"].map((t) => h("th", { scope: "col", class: t === "Index" ? "number" : null }, t)))), body)));
  find.addEventListener("input", () => draw());

  function draw() {
    const words = find.value.trim().toLowerCase(), all = events();
    const some = words ? all.filter((e) => `${e.cause} ${e.actor} ${(e.objects ?? []).join(" ")}`.toLowerCase().includes(words)) : all;
    text(sum, `the newest ${many(some.length, "event")}; rvol event list tells of all`);
    keyed(body, some, (e) => e.key, () => 0, rowOf);
  }
  return { title: "Events", draw };
}
