package control

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryKnownDefectHasATest maps what went wrong in earlier allocators of this kind to
// the tests that keep it out.
func TestEveryKnownDefectHasATest(t *testing.T) {
	t.Parallel()
	rows := []struct{ defect, test string }{
		1:  {"check-then-act: pools over-committed", "TestOfAThousandConcurrentVolumesAsManyArePlacedAsFit"},
		2:  {"usage counted in two places", "TestTheLedgerAgreesWithANaiveModel"},
		3:  {"rounding of the over-provisioned limit", "TestLimits"},
		4:  {"objects left behind by failed placements", "TestAVolumeIsPlacedWholeOrNotAtAll"},
		5:  {"a rejected request is granted later", "TestARejectedRequestIsNeverGranted"},
		6:  {"a rejection that nobody hears of", "TestAPoolThatRefusesIsNotAskedAgainAndTheNextTakesTheVolume"},
		7:  {"names taken for identities", "TestAGroupWithAnotherUUIDIsAnotherPool"},
		8:  {"a cordon stops releases", "TestACordonBlocksGrowthOnly"},
		9:  {"waiting requests are not woken", "TestWhatWaitsIsWoken"},
		10: {"what exists is not started after an upgrade", "TestWhatWasThereIsChargedWithoutCondition"},
		11: {"a kind of consumer left out of the sum", "TestEveryKindOfOwnerIsCharged"},
		12: {"copies of an image under one key", "TestAllCopiesOfAnImageOrNone"},
		13: {"a disk on another node", "TestAGroupOnAnotherNodeIsAnotherPool"},
		14: {"a disk removed with replicas on it", "TestALostGroupKeepsItsChargesAndTakesNothing"},
		15: {"space taken by others", "TestForeignExtentsAreNotGivenAway"},
		16: {"a lowered limit shuts out what is there", "TestALoweredLimitRevokesNothing"},
		17: {"nobody says which pool is full", "TestAVolumeIsToldWhichPoolsLackWhat"},
		18: {"expansion half done", "TestAHundredVolumesGrowWholeOrNotAtAllThroughElections"},
		19: {"large requests starve", "TestALargeVolumeIsNotStarvedBySmallOnes"},
		20: {"use that is not in the ledger", "TestAThinPoolThatFillsUpTakesNothingMore"},
		21: {"leaked port numbers", "TestNumbersComeWithTheSpaceAndGoWithIt"},
	}
	tests := testsOf(t, ".", "../decide/allocation")
	for i, row := range rows[1:] {
		if !slices.Contains(tests, row.test) {
			t.Errorf("row %d, %s: there is no %s", i+1, row.defect, row.test)
		}
	}
}

// testsOf lists the tests in folders.
func testsOf(t *testing.T, dirs ...string) []string {
	t.Helper()
	var names []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") {
					names = append(names, fn.Name.Name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
