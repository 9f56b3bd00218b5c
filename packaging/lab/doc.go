// Package lab holds what makes a Debian root file system a lab node, for the kernel lab and for Vagrant:
// the files of the node, the scripts that need file owners and therefore run under fakeroot, and those that run on the nodes.
package lab
