package browser_test

import (
	"strings"
	"testing"

	"rvol/cmd/internal/lab/browser"
	"rvol/coordinator/serve/web/webtest"
)

// Everything can be reached and seen with the keyboard, has a name, and can be read in light and dark.
func TestEverybodyCanUseThePages(t *testing.T) {
	t.Parallel()
	s := show(t, webtest.Large(25), "")
	s.Prefer("light", "reduce")
	s.enter(t)
	for _, page := range []string{"#/", "#/volumes?node=n1", "#/volume/vol-0000", "#/storage", "#/events"} {
		s.open(page)
		if said := s.Nameless(); len(said) > 0 {
			t.Errorf("%s: %q", page, said)
		}
		if said := s.Unreached(); len(said) > 0 {
			t.Errorf("%s: %q", page, said)
		}
		for _, scheme := range []string{"light", "dark"} {
			s.Prefer(scheme, "reduce")
			if said := s.Faint(); len(said) > 0 {
				t.Errorf("%s, %s: too little contrast: %q", page, scheme, said)
			}
		}
		if n := eval(s, "document.querySelectorAll('h1').length"); n != 1 {
			t.Errorf("%s has %v titles", page, n)
		}
		if n := eval(s, "document.getAnimations().length"); n != 0 {
			t.Errorf("%s moves, although the person asked it not to", page)
		}
	}
}

// What changes is told once, in words, to those who do not see it; and the focus stays where it was.
func TestChangesAreAnnounced(t *testing.T) {
	t.Parallel()
	c := webtest.Large(6)
	s := show(t, c, "")
	s.enter(t)
	s.open("#/volumes")
	browser.Eval[bool](s.Browser, "(document.querySelector('tbody tr:nth-child(3) a').focus(), true)")
	c.Put(webtest.Volume(2, "degraded"))
	s.Until("document.querySelector('#announce').textContent === '1 volume needs attention'")
	if at := browser.Eval[string](s.Browser, "document.activeElement.textContent"); at != "vol-0002" {
		t.Errorf("the focus is on %q", at)
	}
	c.Put(webtest.Volume(2, "ready"))
	s.Until("document.querySelector('#announce').textContent === 'All volumes are well'")
	c.Remove("vol-0003")
	s.Until("document.querySelectorAll('tbody tr').length === 5")
}

// The checks above find what is wrong where something is.
func TestTheChecksFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := show(t, webtest.New(), "")
	s.Prefer("light", "reduce")
	s.enter(t)
	browser.Eval[bool](s.Browser, `(() => {
		const button = document.createElement("button"), pale = document.createElement("p"), apart = document.createElement("div"), link = document.createElement("a");
		pale.style.color = "#bbb";
		pale.textContent = "pale";
		link.href = "#/";
		link.textContent = "out of reach";
		apart.inert = true;
		apart.append(link);
		document.querySelector("main").append(button, pale, apart);
		return true;
	})()`)
	if got := s.Nameless(); len(got) != 1 || got[0] != "a button without a name" {
		t.Errorf("nameless: %q", got)
	}
	if got := s.Faint(); len(got) != 1 || !strings.HasPrefix(got[0], "pale: 1.") {
		t.Errorf("faint: %q", got)
	}
	if got := s.Unreached(); len(got) != 1 {
		t.Errorf("unreached: %q", got)
	}
}
