package browser

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// names are what distributions call it.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// patience is how long one look at a page may take on a busy machine.
const patience = 3 * time.Minute

// Browser is one window.
type Browser struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	origin     string
	complaints []string
}

// Open starts a browser that takes the certificate cert of the page, and ends it with the test. script runs in each page
// before its own.
func Open(t *testing.T, cert *x509.Certificate, script string) *Browser {
	t.Helper()
	path := find(t)
	spki := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 1000), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(spki[:])),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("force-color-profile", "srgb"),
	}
	if !sandboxed(t) {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:], opts...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &Browser{t: t, ctx: ctx}
	must(t, chromedp.Listen(ctx, b.hear))
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("in the browser: %v", err)
	}
}

func call[P, R any](b *Browser, c cdp.Command[P, R], params P) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, c, params)
	must(b.t, err)
}

// find finds the browser, or says how to get one.
func find(t *testing.T) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("no browser to look at the dashboard with (%s): `make setup` installs it, or as root: apt-get install chromium", strings.Join(names, ", "))
	return ""
}

// sandboxed says whether Chromium can shut its pages in: not as root, and not where users may make no namespaces.
func sandboxed(t *testing.T) bool {
	t.Helper()
	if os.Getuid() == 0 {
		return false
	}
	probe := exec.CommandContext(t.Context(), "true")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return probe.Run() == nil
}

// hear keeps what the browser complains about.
func (b *Browser) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.complain("exception: %s", describe(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		b.complain("console.%s: %s", e.Type, strings.Join(words, " "))
	case *log.EventEntryAdded:
		b.complain("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *network.EventRequestWillBeSent:
		b.mu.Lock()
		origin := b.origin
		b.mu.Unlock()
		if origin != "" && !strings.HasPrefix(e.Request.URL, origin+"/") {
			b.complain("request to %s", e.Request.URL)
		}
	}
}

func describe(e *runtime.ExceptionDetails) string {
	if e.Exception != nil {
		return e.Text + " " + e.Exception.Description
	}
	return e.Text
}

func (b *Browser) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.complaints = append(b.complaints, fmt.Sprintf(format, args...))
}

// Complaints are those since it was last asked.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.complaints
	b.complaints = nil
	return out
}

// Visit opens a page. Requests to any other origin than its own are complaints from here on.
func (b *Browser) Visit(url string) {
	b.t.Helper()
	b.mu.Lock()
	b.origin = strings.Join(strings.SplitN(url, "/", 4)[:3], "/")
	b.mu.Unlock()
	b.Do(chromedp.Navigate(url))
}

// Do does something in the window.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("in the browser: %v; it said: %q", err, b.Complaints())
	}
}

// Eval returns what an expression gives, awaited if it is a promise.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("in the browser: %s: %v; it said: %q", expression, err, b.Complaints())
	}
	return out
}

// Until waits until an expression is true, in whatever page is there by then.
func (b *Browser) Until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && is {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			b.t.Fatalf("in the browser: wait for %s: %v; it said: %q", expression, err, b.Complaints())
		}
	}
}

// Prefer sets what the person at the browser prefers: light or dark, and reduce or no-preference of motion.
func (b *Browser) Prefer(scheme, motion string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
	}})
}

// Shoot writes what is to be seen to a file.
func (b *Browser) Shoot(path string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	must(b.t, err)
	must(b.t, os.WriteFile(path, png, 0o644))
}
