// Builds the page. All text is text: nothing here, and nothing else, reads markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(el, attrs, children) {
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  el.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

// h makes an element: h("p", { class: "note" }, "text", h("b", null, "bold")).
export const h = (tag, attrs, ...children) => fill(document.createElement(tag), attrs, children);

// s makes an element of a drawing.
export const s = (tag, attrs, ...children) => fill(document.createElementNS(SVG, tag), attrs, children);

// text changes what an element says, if it says something else.
export function text(el, words) {
  if (el.textContent !== words) el.textContent = words;
}

// keyed makes the children of an element those of a list. An item with the same key keeps its element as long as its
// sign is the same; the focus stays where it was.
export function keyed(parent, items, key, sign, make) {
  const old = parent.kept ?? new Map(), kept = new Map(), focus = document.activeElement;
  let at = parent.firstChild; // where the next element belongs
  for (const item of items) {
    const k = key(item), mark = sign(item);
    let entry = old.get(k);
    old.delete(k);
    if (entry && entry.mark !== mark) {
      const el = make(item);
      if (at === entry.el) at = el;
      swap(entry.el, el);
      entry = { mark, el };
    }
    entry ??= { mark, el: make(item) };
    kept.set(k, entry);
    if (entry.el === at) at = at.nextSibling;
    else parent.insertBefore(entry.el, at);
  }
  for (const { el } of old.values()) el.remove();
  parent.kept = kept;
  if (focus?.isConnected && document.activeElement !== focus && document.activeElement === document.body) focus.focus();
}

// swap puts an element in the place of another, with the focus on the same link or button.
export function swap(from, to) {
  const controls = "a[href],button,summary";
  const at = [...from.querySelectorAll(controls)].indexOf(document.activeElement);
  from.replaceWith(to);
  if (at >= 0) to.querySelectorAll(controls)[at]?.focus();
}
