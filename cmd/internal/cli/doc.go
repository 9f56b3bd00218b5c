// Package cli is the rvol command as a package: its tree of commands, run in the process of whoever calls it.
//
// Its rule: everything it knows of the outside comes in an [Env], so that scripts run whole commands against a
// cluster in the same process. It is a client of the admin API and of nothing else.
//
//	code := cli.Run(ctx, cli.Env{Stdout: &out, Stderr: &errs, Dial: dial}, []string{"volume", "list"})
//
// # Output
//
// Tables are for people and may change. The forms json and yaml are stable: field names are those of the .proto files
// in snake_case, sizes are numbers of bytes, times are RFC 3339 in UTC, durations are seconds as in "600s", every field
// is present but those without a value of their own (absent messages and optional fields). `list` prints an array,
// `show` of one name prints the object and of several an array. The form name prints kind/name lines.
//
// # Exit status
//
//	0  done
//	1  it went wrong in another way than those below, or was interrupted
//	2  the command was not understood, or the server found a value invalid
//	3  an object was not found
//	4  a conflict: it exists already, is in use, or changed meanwhile
//	5  no space, or no place for a replica
//	6  the time given with --timeout is over
//	7  no coordinator can answer
package cli
