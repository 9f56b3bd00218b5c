package browser_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"rvol/cmd/internal/lab/browser"
	"rvol/coordinator/serve/web/webtest"
	adminv1 "rvol/proto/admin/v1"
)

// hostile is what a tool, an agent or a person might write where a name or a message belongs.
const hostile = `<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>"'&lt;`

func TestWhatOthersWriteIsText(t *testing.T) {
	t.Parallel()
	c := webtest.New()
	bad := []*adminv1.Condition{{Type: hostile, Status: "False", Reason: hostile, Message: hostile}}
	c.Add([]*adminv1.Node{{Meta: &adminv1.Meta{Name: hostile}, Zone: hostile, Connected: true, StatusReason: hostile, Conditions: bad}},
		[]*adminv1.LVG{{Meta: &adminv1.Meta{Name: hostile}, Node: hostile, Vg: hostile, Conditions: bad, Spaces: []*adminv1.PoolSpace{{ThinPool: hostile, GrowthStopped: hostile}}}})
	v := webtest.Volume(0, "degraded")
	v.Meta.Name, v.Message, v.Class, v.Layout, v.Conditions = hostile, hostile, hostile, hostile, bad
	v.Transitions = []*adminv1.Transition{{Title: hostile, Steps: []*adminv1.TransitionStep{{Name: hostile, Status: hostile, Message: hostile}}}}
	for _, r := range v.GetReplicas() {
		r.Node, r.Vg, r.Disk, r.Role, r.Type, r.Opener, r.Conditions = hostile, hostile, hostile, hostile, hostile, hostile, bad
		r.Peers[0].Connection, r.Peers[0].Replication = hostile, hostile
	}
	v.Attachments[0].Node = hostile
	strange := webtest.Volume(1, hostile)
	c.Put(v, strange)
	c.Happened(&adminv1.Event{Time: timestamppb.Now(), Actor: hostile, Cause: hostile, Objects: []string{"volume/" + hostile}})

	s := show(t, c, "")
	s.enter(t)
	for _, page := range []string{"#/", "#/volumes", "#/storage", "#/events"} {
		s.open(page)
		if !strings.Contains(browser.Eval[string](s.Browser, "document.querySelector('main').textContent"), hostile) {
			t.Errorf("%s does not show the text as it is", page)
		}
	}
	s.open("#/volumes")
	browser.Eval[bool](s.Browser, "([...document.querySelectorAll('main th a.name')].find((a) => a.textContent.startsWith('<')).click(), true)")
	s.Until("document.querySelector('.picture svg')")
	if got := browser.Eval[string](s.Browser, "document.querySelector('h1').textContent"); got != hostile {
		t.Errorf("the volume's page is headed %q", got)
	}
	if n := eval(s, "document.querySelectorAll('main img, main script').length + (window.harmed ?? 0)"); n != 0 {
		t.Errorf("text has become %v elements", n)
	}
	if said := s.Complaints(); len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}

// A page that tries what the policy forbids is refused, and the browser says so: the other tests would hear it.
func TestThePolicyHolds(t *testing.T) {
	t.Parallel()
	s := show(t, webtest.New(), "")
	s.enter(t)
	s.Complaints()
	for what, attempt := range map[string]string{
		"a script in the page": `(() => { const e = document.createElement("script"); try { e.textContent = "window.harmed=1"; } catch { return true; } document.body.append(e); return !window.harmed; })()`,
		"markup":               `(() => { try { document.body.innerHTML = "<b>x</b>"; return false; } catch { return true; } })()`,
		"a style in the page":  `(() => { const e = document.createElement("p"); e.setAttribute("style", "display: none"); document.body.append(e); return getComputedStyle(e).display !== "none"; })()`,
		"another site":         `fetch("https://127.0.0.1:1/").then(() => false, () => true)`,
		"the cookie":           `document.cookie === ""`,
		"a frame":              `(() => { const e = document.createElement("iframe"); e.src = "/"; document.body.append(e); return new Promise((done) => setTimeout(() => { try { done(!e.contentDocument?.querySelector("main")); } catch { done(true); } }, 300)); })()`,
		"a picture from afar":  `new Promise((done) => { const e = new Image(); e.onload = () => done(false); e.onerror = () => done(true); e.src = "https://127.0.0.1:1/x.png"; })`,
	} {
		if !browser.Eval[bool](s.Browser, attempt) {
			t.Errorf("%s is not held off", what)
		}
	}
	if len(s.Complaints()) == 0 {
		t.Error("the browser does not say what it refuses")
	}
}
