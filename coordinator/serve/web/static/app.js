// The frame around the pages: who looks, the stream of what changes, and which page is shown.
import { text } from "./dom.js";
import { apply, db, volumes } from "./store.js";
import { inTrouble } from "./states.js";
import { many } from "./format.js";
import { overview } from "./overview.js";
import { volumeList } from "./volumes.js";
import { volumePage } from "./volume.js";
import { storage } from "./storage.js";
import { eventList } from "./events.js";

const byId = (id) => document.getElementById(id);
const main = byId("main");

// Each page has a title, makes what it shows once, and returns how that is drawn again.
const pages = { "": overview, volumes: volumeList, volume: volumePage, storage, events: eventList };

let draw = null; // of the page that is shown
let shown = null; // its address, without what follows ?
let drawing = false;
let ready = false;

// later draws the page with the next frame, however much has changed by then.
function later() {
  if (drawing || !ready) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    text(byId("cluster"), db.cluster?.id ?? "");
    byId("trouble").hidden = !db.trouble;
    text(byId("trouble"), db.trouble?.text ?? "");
    draw?.();
    announce();
  });
}

// open shows the page of the address.
function open() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  const page = pages[name] ?? overview;
  const another = path !== shown;
  shown = path;
  for (const a of document.querySelectorAll("nav a")) {
    const here = a.getAttribute("href") === "#/" + name || (name === "volume" && a.getAttribute("href") === "#/volumes");
    if (here) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  const root = document.createElement("div");
  const made = page(root, rest.join("/"), new URLSearchParams(query));
  draw = made.draw;
  draw();
  main.replaceChildren(root);
  main.removeAttribute("aria-busy");
  document.title = `${made.title} · rvol`;
  if (another && document.documentElement.dataset.live) {
    const head = root.querySelector("h1");
    head.tabIndex = -1;
    head.focus();
    scrollTo(0, 0);
  }
}

let told = null, telling = 0;

// announce tells who does not see the page how many volumes are in trouble, when that has changed, and not too often.
function announce() {
  const n = volumes().filter(inTrouble).length;
  if (n === told || telling) return;
  const first = told === null;
  told = n;
  if (first) return;
  telling = setTimeout(() => {
    telling = 0;
    text(byId("announce"), told ? `${many(told, "volume needs", "volumes need")} attention` : "All volumes are well");
    announce();
  }, 1500);
}

function follow() {
  const stream = new EventSource("/stream");
  const link = byId("link");
  const say = (word, good) => { text(link, word); link.className = good ? "live" : "lost"; };
  stream.onopen = () => say("live", true);
  stream.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    apply(message);
    if (!ready) {
      ready = true;
      open();
      document.documentElement.dataset.live = "yes";
    }
    if (!message.more) document.documentElement.dataset.whole = "yes";
    later();
  };
  stream.addEventListener("over", () => { stream.close(); gone("Your session is over"); });
  stream.onerror = async () => {
    say("reconnecting", false);
    if (stream.readyState !== EventSource.CLOSED) return; // it comes again by itself
    if (await whoLooks()) setTimeout(follow, 2000);
  };
}

// gone says that nothing more is shown, and what to do.
function gone(title) {
  ready = false;
  draw = null;
  text(byId("link"), "signed out");
  byId("link").className = "lost";
  byId("leave").hidden = true;
  text(byId("person"), "");
  const head = document.createElement("h1"), what = document.createElement("p"), code = document.createElement("code");
  head.textContent = title;
  code.textContent = "rvol dashboard";
  what.append(code, " prints a link that lets you in, once, in your name.");
  main.replaceChildren(head, what);
  main.removeAttribute("aria-busy");
  document.title = title + " · rvol";
}

// whoLooks shows whose session this is, and returns false when it is nobody's.
async function whoLooks() {
  let answer;
  try {
    answer = await fetch("/session");
  } catch {
    return true; // nobody answers: that may change
  }
  if (answer.status === 401) return gone("Nobody is signed in here"), false;
  const me = await answer.json();
  text(byId("person"), `${me.name}, ${me.role}`);
  byId("person").title = `until ${new Date(me.ends).toLocaleString()}, by coordinator ${me.coordinator}`;
  byId("leave").hidden = false;
  return true;
}

byId("leave").addEventListener("click", async () => {
  await fetch("/session", { method: "DELETE" });
});
byId("skip").addEventListener("click", (e) => { e.preventDefault(); main.focus(); });
addEventListener("hashchange", () => { if (ready) open(); });
follow();
whoLooks();
