// Command rvol-lab is a whole cluster on a laptop: nodes one can use, cut off and take the power of, with
// real kernels or simulated, as an ordinary user.
//
//	rvol-lab up --nodes 3 --payload build/payload
//	rvol-lab exec n1 -- lvs
//	rvol-lab kill n1
//	rvol-lab start n1
//	rvol-lab down
package main
