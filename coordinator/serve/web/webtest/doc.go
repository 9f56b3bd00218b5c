// Package webtest is an admin API for tests of the dashboard: a cluster as large, and as strange, as a test wants it.
//
// Its rule: it tells what it was given, and of each change at once.
package webtest
