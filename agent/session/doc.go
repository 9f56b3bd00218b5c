// Package session is the agent's conversation with the coordinators: it finds
// the leader, reports, receives orders, and sends the results of operations
// until they are acknowledged.
//
// Its rule: it decides nothing and touches nothing. An order is handed to
// [Config.Accept], which refuses what is older than the newest accepted one.
package session
