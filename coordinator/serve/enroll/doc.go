// Package enroll turns tokens and keys into members of the cluster: it checks who may
// join as whom, says what is to be remembered of it, and signs certificates.
//
// Its rule: it proposes nothing. The doors put what it returns into one transaction, and
// hand out a certificate only when that is in force.
package enroll
