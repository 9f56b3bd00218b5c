// Package line makes a reliable stream of bytes out of the serial line between a node's agent and its launcher.
//
// The agent says hello until the launcher answers; then both send frames with a checksum. The launcher never has more than
// a window of unacknowledged bytes on its way to the node: a User Mode Linux terminal whose input buffer (4 KiB) fills
// stops for good. A new hello, or a frame that makes no sense, ends the session; an agent that was restarted starts another.
package line
