package browser

import (
	"fmt"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// controls are the roles of what people act on or must be told of: each needs a name.
var controls = map[string]bool{
	"link": true, "button": true, "searchbox": true, "textbox": true, "combobox": true, "checkbox": true, "image": true, "img": true,
	"navigation": true, "region": true, "DisclosureTriangle": true,
}

// Nameless lists what a screen reader would have no word for, and landmarks that are missing.
func (b *Browser) Nameless() []string {
	b.t.Helper()
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	must(b.t, err)
	var out []string
	roles := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role, name := unquote(n.Role), unquote(n.Name)
		roles[role]++
		if controls[role] && name == "" {
			out = append(out, fmt.Sprintf("a %s without a name", role))
		}
	}
	for _, landmark := range []string{"banner", "navigation", "main"} {
		if roles[landmark] == 0 {
			out = append(out, "no landmark "+landmark)
		}
	}
	return out
}

func unquote(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return string(trimmed(v.Value))
}

func trimmed(raw []byte) []byte {
	if len(raw) >= 2 && raw[0] == '"' {
		return raw[1 : len(raw)-1]
	}
	return raw
}

// reachable counts what can have the focus and is to be seen.
const reachable = `(() => [...document.querySelectorAll('a[href],button:enabled,input,select,summary,[tabindex="0"]')]
	.filter((e) => e.checkVisibility({ visibilityProperty: true }))
	.map((e, i) => (e.dataset.tab = i)).length)()`

// reached is which of them has the focus, and whether that can be seen.
const reached = `(() => {
	const e = document.activeElement, style = getComputedStyle(e);
	return [e.dataset.tab ?? "", e === document.body || style.outlineStyle !== "none" ? "" : e.outerHTML.slice(0, 120)];
})()`

// Unreached walks through the page with the tab key, and tells what that does not reach, or reaches unseen.
func (b *Browser) Unreached() []string {
	b.t.Helper()
	n := Eval[int](b, reachable)
	Eval[bool](b, "(document.activeElement.blur(), true)")
	var out []string
	seen := map[string]bool{}
	for range 2*n + 4 {
		b.Do(chromedp.KeyEvent(kb.Tab))
		at := Eval[[]string](b, reached)
		if at[1] != "" {
			out = append(out, "the focus cannot be seen on "+at[1])
		}
		if at[0] != "" {
			seen[at[0]] = true
		}
		if len(seen) == n {
			return out
		}
	}
	for i := range n {
		if key := fmt.Sprint(i); !seen[key] {
			out = append(out, "not reached: "+Eval[string](b, fmt.Sprintf("document.querySelector('[data-tab=\"%d\"]')?.outerHTML.slice(0, 120) ?? 'gone'", i)))
		}
	}
	return out
}

// faint compares every text with what is behind it, by the formula of WCAG 2.
const faint = `(() => {
	const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgba = (color) => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = color; probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data]; };
	const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
	const out = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement, words = walk.currentNode.textContent.trim();
		if (!words || !e.checkVisibility() || e.closest(":disabled, .unseen, script, style, .skip:not(:focus)")) continue;
		const style = getComputedStyle(e), svg = e.closest("svg");
		const [a, b] = [light(rgba(svg ? style.fill : style.color)), light(behind(svg ? svg.parentElement : e))];
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) out.push(words.slice(0, 40) + ": " + ratio.toFixed(2));
	}
	return out;
})()`

// Faint lists texts whose contrast with what is behind them is less than 4.5.
func (b *Browser) Faint() []string {
	b.t.Helper()
	return Eval[[]string](b, faint)
}
