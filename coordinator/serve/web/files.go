package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"
)

//go:embed static
var static embed.FS

// pages are where the browser's address names no file.
var pages = map[string]string{"/": "index.html", "/login": "login.html"}

// file is one that every browser may have: there is nothing of the cluster in it.
type file struct {
	name, kind, tag string
	text            []byte
}

// loadFiles reads what is embedded, by the path under which it is asked for.
func loadFiles() (map[string]file, error) {
	out := map[string]file{}
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		out["/"+path.Base(name)] = file{name: name, kind: mime.TypeByExtension(path.Ext(name)), tag: `"` + hex.EncodeToString(sum[:8]) + `"`, text: text}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the dashboard's files: %w", err)
	}
	for at, name := range pages {
		out[at] = out["/"+name]
	}
	return out, nil
}

// static answers with a file.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	f, ok := s.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "no-cache") // ask whether it is still the same
	w.Header().Set("ETag", f.tag)
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.text))
}
