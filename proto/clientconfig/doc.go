// Package clientconfig reads and writes the file that tells the rvol command which cluster to talk to, and as whom.
//
// The file is YAML (JSON is YAML too), strict, and private because it may hold a key:
//
//	cluster: prod
//	endpoints: [10.0.0.1:7800, 10.0.0.2:7800]
//	ca: ca.pem        # a path, from this file's directory, or the PEM text itself
//	cert: anna.pem
//	key: anna-key.pem
package clientconfig
