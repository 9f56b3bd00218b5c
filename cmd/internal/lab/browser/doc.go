// Package browser is a real browser for tests: headless Chromium, with everything that it complains about.
//
// Its rule: what a page logs, loads from elsewhere or is refused by its policy is kept, so that a test can demand that
// there was nothing.
package browser
