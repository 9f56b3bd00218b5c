package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	adminv1 "rvol/proto/admin/v1"
)

// labelFlags are the flags with which labels are changed.
type labelFlags struct{ set, remove []string }

func (l *labelFlags) on(c *cobra.Command) {
	c.Flags().StringSliceVar(&l.set, "label", nil, "set a label, as `KEY=VALUE`; may be repeated")
	c.Flags().StringSliceVar(&l.remove, "unlabel", nil, "remove the label `KEY`; may be repeated")
}

func (l *labelFlags) change() (*adminv1.LabelChange, error) {
	if len(l.set)+len(l.remove) == 0 {
		return nil, nil
	}
	set, err := parsePairs("label", l.set)
	return &adminv1.LabelChange{Set: set, Remove: l.remove}, err
}

// pairFlag defines a flag that takes KEY=VALUE and may be repeated. Values may hold commas.
func pairFlag(c *cobra.Command, to *[]string, name, what string) {
	c.Flags().StringArrayVar(to, name, nil, what+", as `KEY=VALUE`; may be repeated")
}

// given returns a pointer to v when the flag was given, for the API's optional fields.
func given[T any](c *cobra.Command, flag string, v T) *T {
	if !c.Flags().Changed(flag) {
		return nil
	}
	return &v
}

// someFlag refuses a set command that sets nothing.
func someFlag(c *cobra.Command) error {
	some := false
	c.Flags().Visit(func(f *pflag.Flag) { some = some || c.InheritedFlags().Lookup(f.Name) == nil })
	if !some {
		return usage("%s: nothing to change is given", verb(c))
	}
	return nil
}

// need marks flags without which a command makes no sense; completion offers them first.
func need(c *cobra.Command, flags ...string) {
	for _, f := range flags {
		if err := c.MarkFlagRequired(f); err != nil {
			panic(err) // the flag was defined a few lines before
		}
	}
}

// missing refuses a command that lacks a flag it needs, in our words and with our exit status.
func missing(c *cobra.Command) error {
	var err error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, needed := f.Annotations[cobra.BashCompOneRequiredFlag]; needed && !f.Changed && err == nil {
			err = usage("%s: --%s is missing", verb(c), f.Name)
		}
	})
	return err
}

// exclusive refuses flags that contradict each other.
func exclusive(c *cobra.Command, flag string, others ...string) error {
	for _, other := range others {
		if c.Flags().Changed(flag) && c.Flags().Changed(other) {
			return usage("--%s and --%s exclude each other", flag, other)
		}
	}
	return nil
}
