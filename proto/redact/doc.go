// Package redact takes secrets out of what leaves the cluster to be read by others.
//
// Its rule: what is known to be a secret goes in every form in which a log or a document may write it; of what
// looks like one nothing stays but its name. It takes rather too much.
package redact
