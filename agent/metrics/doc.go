// Package metrics tells monitoring how an agent and its machine are.
//
// Its rule: tools are counted while they run, all else is read when a scrape asks for it, from
// what the agent knows already: a scrape runs no tool and asks no kernel. A label is a name or one
// of a fixed list of words, never a sentence.
package metrics
