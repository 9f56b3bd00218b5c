package script

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADocumentIsAScriptAChapter(t *testing.T) {
	t.Parallel()
	text := "# Title\nprose\n## One\n```console\n$ rvol node list\nn1  Ready 5s\n...\n$ rvol lvg create n1 vg9\nrvol: n1 has no 'vg9'.\n```\n" +
		"<!-- lab\npoweroff n1\n-->\n```sh\nreboot\nls\n```\n```sh\nhalt\n```\n## Two\nprose `rvol x`\n```\nno\n```\n"
	want := map[string]Chapter{"One": {
		Script: `rvol node list
stdout 'n\d+\s+Ready\s+\d+s'

! rvol lvg create n1 vg9
stderr 'rvol:\s+n\d+\s+has\s+no\s+''vg\d+''\.'
poweroff n1
`,
		Shell: []string{"reboot\nls\n", "halt\n"},
	}}
	if diff := cmp.Diff(want, Chapters(text)); diff != "" {
		t.Error(diff)
	}
}
