package cli

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
)

// What is read and written again reads the same, and nothing that people may write breaks the reader.
func FuzzReadDocuments(f *testing.F) {
	f.Add("kind: class\nname: r2\nftt: 1\nstorage: {type: LVM, vgs: [a]}\nlabels: {a: b}\n---\nkind: volume\nname: v\nsizes: [1GiB]\n")
	f.Add("kind: pool\nname: p\nnot_ready_grace: 1h\nzones: &z [a]\nlabels: *z\n")
	f.Add("- a\n")
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := readDocuments("f", strings.NewReader(text))
		if err != nil {
			return
		}
		for _, d := range docs {
			b, err := yaml.Marshal(documentOf(d.wanted.GetSpec()))
			if err != nil {
				t.Fatal(err)
			}
			again, err := readDocuments("f", strings.NewReader(string(b)))
			if err != nil {
				t.Fatalf("%v in\n%s", err, b)
			}
			if !proto.Equal(d.wanted.GetSpec(), again[0].wanted.GetSpec()) {
				t.Fatalf("%v became %v through\n%s", d.wanted.GetSpec(), again[0].wanted.GetSpec(), b)
			}
		}
	})
}
