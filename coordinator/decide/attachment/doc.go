// Package attachment decides on which nodes a volume may be used, and when a use has ended.
//
// Its rule: a node counts as a user from the grant until it is proven Secondary, and there is
// one at most, unless all copies have confirmed that they bear two.
package attachment
