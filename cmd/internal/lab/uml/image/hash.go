package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

type hasher = hash.Hash

// hashAll is the first 16 digits of the hash of all parts, in their order.
func hashAll(parts ...func(hasher) error) (string, error) {
	whole := sha256.New()
	for _, part := range parts {
		h := sha256.New()
		if err := part(h); err != nil {
			return "", err
		}
		whole.Write(h.Sum(nil))
	}
	return hex.EncodeToString(whole.Sum(nil))[:16], nil
}

func hashText(h hasher, s string) error {
	_, err := io.WriteString(h, s)
	return err
}

func hashFile(h hasher, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(h, f)
	return err
}

// hashFolder hashes names, modes and contents of what lies in a folder; "" is nothing.
func hashFolder(h hasher, folder string) error {
	if folder == "" {
		return nil
	}
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if err := hashText(h, fmt.Sprintf("%s\x00%v\x00%d\x00", name, info.Mode(), info.Size())); err != nil {
			return err
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return hashText(h, target)
		case info.Mode().IsRegular():
			return hashFile(h, path)
		}
		return nil
	})
}

func hashFS(h hasher, files fs.FS) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return hashText(h, fmt.Sprintf("%s\x00%d\x00%s", path, len(b), b))
	})
}

// A big file's hash is kept beside it.
func sumFile(path string) string { return path + ".sha256" }

func hashSum(h hasher, path string) error { return hashFile(h, sumFile(path)) }

func writeSum(path string) error {
	sum, err := fileSum(path)
	if err != nil {
		return err
	}
	return os.WriteFile(sumFile(path), []byte(sum+"\n"), 0o644)
}

func fileSum(path string) (string, error) {
	h := sha256.New()
	if err := hashFile(h, path); err != nil {
		return "", err
	}
	return strings.ToLower(hex.EncodeToString(h.Sum(nil))), nil
}
