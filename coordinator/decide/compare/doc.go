// Package compare tells in what the nodes differ from the state: what they hold and it
// does not say, what it says and they do not hold, and what they are ahead of it with.
//
// Its rule: a node that has not reported fully is different in nothing. Of it nothing is
// known, which Waiting says.
package compare
