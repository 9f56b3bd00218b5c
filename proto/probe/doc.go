// Package probe is the door through which monitoring looks at a daemon: /metrics, /livez and
// /readyz over plain HTTP, the same on the agent and on the coordinator.
//
// Its rule: nothing is computed before it is asked for, whoever watches can change nothing,
// and what goes wrong here never ends what is watched.
package probe
