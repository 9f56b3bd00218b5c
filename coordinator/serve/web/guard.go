package web

import (
	"net/http"
	"strings"
)

// policy is what a page may load, run and reach: what stands here, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// headers are on every answer.
var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Embedder-Policy": "require-corp",
	"Permissions-Policy":           "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
}

// guarded puts the headers on every answer, and takes no request that another site's page makes.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		// Somebody may come from another site to the page; the page's own requests come from nowhere else.
		site, data := r.Header.Get("Sec-Fetch-Site"), r.URL.Path == "/stream" || strings.HasPrefix(r.URL.Path, "/session")
		if data && site != "" && site != "same-origin" && site != "none" {
			refuse(w, http.StatusForbidden, "another site's page asks")
			return
		}
		next.ServeHTTP(w, r)
	})
}
