// Package collect gathers what helps to find out what is wrong with a node: logs, what tools say, files.
//
// Its rule: it changes nothing, it is bounded in size and time, and what it hands out has been through redact. What
// cannot be had is named, with the reason, and stops nothing else.
package collect
