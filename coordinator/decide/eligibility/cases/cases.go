package cases

import (
	"errors"
	"fmt"
	"io"

	"rvol/coordinator/decide/eligibility"
	"rvol/coordinator/decide/internal/jsonl"
	"rvol/coordinator/decide/layout"
)

type testCase struct {
	Name  string `json:"name"`
	Input *input `json:"input"`
}

type input struct {
	Topology string `json:"topology"`
	FTT      int    `json:"ftt"`
	GMDR     int    `json:"gmdr"`
	Nodes    []node `json:"nodes"`
}

type node struct {
	Name  string `json:"name"`
	Zone  string `json:"zone"`
	Disks int    `json:"disks"`
}

type result struct {
	Name    string `json:"name"`
	Valid   bool   `json:"valid"`
	Message string `json:"message"`
}

// Cases reads cases from r and writes {"name", "valid", "message"} for each to w.
// It fails with the number of the first line that cannot be read.
func Cases(r io.Reader, w io.Writer) error {
	return jsonl.Answer(r, w, answer)
}

func answer(c testCase) (result, error) {
	if c.Input == nil {
		return result{}, errors.New("has no input")
	}
	topology, err := layout.ParseTopology(c.Input.Topology)
	if err != nil {
		return result{}, err
	}
	nodes := make([]eligibility.ClassNode, len(c.Input.Nodes))
	for i, n := range c.Input.Nodes {
		if n.Disks < 0 {
			return result{}, fmt.Errorf("node %q has %d disks", n.Name, n.Disks)
		}
		nodes[i] = eligibility.ClassNode{Name: n.Name, Zone: n.Zone, Disks: n.Disks}
	}
	v := eligibility.Validate(topology, layout.Formula(c.Input.FTT, c.Input.GMDR), nodes)
	return result{Name: c.Name, Valid: v.Valid, Message: v.Message}, nil
}
