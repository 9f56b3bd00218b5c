// Package host is the machine: it starts processes, talks to systemd, and
// knows addresses and names.
//
// It is the only package that starts processes. A tool gets an absolute path
// from a fixed list, its own process group, an empty environment, a deadline
// and a limited output; never a shell, never a secret on its command line.
package host
