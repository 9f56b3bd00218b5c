// How numbers and times are written.
import { h } from "./dom.js";

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export const count = (n) => plain.format(n);

// many is "1 volume", "2 volumes".
export const many = (n, noun, plural = noun + "s") => `${count(n)} ${n === 1 ? noun : plural}`;

export function bytes(n) {
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return `${n >= 100 || Number.isInteger(n) ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

export const percent = (p) => `${p >= 99.95 || p === 0 ? Math.round(p) : p.toFixed(1)} %`;

// share is a part of a whole in percent; nothing of nothing is nothing.
export const share = (part, whole) => (whole > 0 ? (100 * part) / whole : 0);

// moment is a time, with its day when that is another.
export function moment(iso) {
  if (!iso) return h("span", null, "–");
  const t = new Date(iso), today = t.toDateString() === new Date().toDateString();
  return h("time", { datetime: iso, title: iso }, today ? clock.format(t) : `${day.format(t)}, ${clock.format(t)}`);
}
