package cli

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	classes "rvol/coordinator/decide/eligibility/cases"
)

func (a *app) planCommand() *cobra.Command {
	return a.group("plan", "Try decisions out: nothing is changed",
		a.planPlacement(),
		a.planVerb("class", "Tell for each case whether its nodes can satisfy its class", classes.Cases))
}

func (a *app) planVerb(verb, short string, answer func(io.Reader, io.Writer) error) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: verb + " --cases FILE", Short: short, Args: args(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error { return a.planFile(file, answer) },
	}
	c.Flags().StringVar(&file, "cases", "", "`FILE` of cases, one JSON object a line; - is standard input")
	need(c, "cases")
	return c
}

// planFile answers the cases of a file, or of standard input.
func (a *app) planFile(file string, answer func(io.Reader, io.Writer) error) error {
	in := a.env.Stdin
	if file != "-" {
		text, err := os.ReadFile(file)
		if err != nil {
			return failed("read cases: %s", err)
		}
		in = bytes.NewReader(text)
	}
	return a.plan(in, file, answer)
}

// plan tells a case that cannot be read, which is the caller's mistake, from an answer that cannot be written.
func (a *app) plan(in io.Reader, file string, answer func(io.Reader, io.Writer) error) error {
	out := &output{w: a.env.Stdout}
	err := answer(in, out)
	if out.err != nil {
		return failed("write the answers: %s", out.err)
	}
	if err != nil {
		f := usage("%s: %s", file, err)
		f.next = "What was answered before that line stands."
		return f
	}
	return nil
}

// output remembers that writing failed.
type output struct {
	w   io.Writer
	err error
}

// Write passes on what it is given.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.err = errors.Join(o.err, err)
	return n, err
}
