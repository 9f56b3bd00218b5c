// Package vagrant is the world of the machines of the Vagrantfile: virtual machines with DRBD 9, reached by ssh. A lab takes over those
// that are there: what was in their volumes is lost.
//
// Its rule: it runs vagrant and ssh and knows no provider.
package vagrant
