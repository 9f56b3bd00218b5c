// Package uml boots one User Mode Linux node as an ordinary process and talks to the agent in it.
//
// It needs no root and no virtualization. Images come from package image, the network from package hub.
package uml
