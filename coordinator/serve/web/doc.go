// Package web is the dashboard: a page in a browser that shows a cluster as it is, live.
//
// Its rule: it is a client of the admin API, in the name of the person who looks, and only looks. It knows nothing of
// the coordinator around it.
//
//	rvol dashboard ──▶ Link ──▶ secret, once ──▶ POST /session ──▶ cookie ──▶ GET /stream
//	                                                                             │
//	browser ◀── rows that changed ◀── feed of the session ◀── admin API, in the person's name
package web
