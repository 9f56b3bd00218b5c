package web

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"time"

	"rvol/proto/identity"
)

// Certificate is what browsers are shown where the operator names no certificate: one that this coordinator signs
// itself, kept in file, for as long as it is for those hosts. Who looks compares its fingerprint with that of the link.
// The cluster's CA stays out of it: no browser should be told to believe that.
func Certificate(file string, hosts []string, now time.Time) (tls.Certificate, error) {
	text, err := identity.ReadPrivateFile(file)
	if err == nil {
		c, err := tls.X509KeyPair(text, text)
		if err != nil {
			return c, fmt.Errorf("read %s: %w: remove it, and another is made", file, err)
		}
		if names(c.Leaf, hosts) && now.Before(c.Leaf.NotAfter) {
			return c, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, fmt.Errorf("read the dashboard's certificate: %w", err)
	}
	if text, err = selfSigned(hosts, now); err != nil {
		return tls.Certificate{}, err
	}
	if err := identity.WriteFile(file, text); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(text, text)
}

// names says whether a certificate is for those hosts.
func names(c *x509.Certificate, hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(h string) bool { return c.VerifyHostname(h) != nil })
}

func selfSigned(hosts []string, now time.Time) ([]byte, error) {
	key, err := identity.GenerateKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "rvol dashboard"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(identity.CALifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, crypto.Signer(key).Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the dashboard's certificate: %w", err)
	}
	own, err := identity.EncodeKey(key)
	if err != nil {
		return nil, err
	}
	return slices.Concat(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), bytes.TrimSpace(own), []byte("\n")), nil
}
