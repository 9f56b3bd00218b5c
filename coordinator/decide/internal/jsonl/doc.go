// Package jsonl answers a stream of JSON objects, one a line, with a stream of JSON objects, one a line.
//
// Rule: a line that cannot be read ends the stream with its number; unknown fields are left alone, wrong types are not.
package jsonl
