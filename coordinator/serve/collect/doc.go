// Package collect lets one call wait for what an agent gathers in its session with this leader.
//
// Its rule: a session is never held up. What an agent sends beyond what was asked for is dropped, and whoever waits
// does not wait longer than it said.
package collect
