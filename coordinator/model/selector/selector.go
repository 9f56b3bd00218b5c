package selector

import (
	"fmt"
	"slices"
	"strings"
)

// An Operator says how a label is compared.
type Operator string

// The operators.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// A Requirement is one condition on one label.
type Requirement struct {
	Key      string
	Operator Operator
	Values   []string // In and NotIn: one or more; else none
}

// A Selector is requirements that must all hold; an empty one selects everything.
type Selector []Requirement

// MatchLabels selects what carries exactly these labels.
func MatchLabels(labels map[string]string) Selector {
	var s Selector
	for key, value := range labels {
		s = append(s, Requirement{Key: key, Operator: In, Values: []string{value}})
	}
	slices.SortFunc(s, func(a, b Requirement) int { return strings.Compare(a.Key, b.Key) })
	return s
}

// Matches says whether labels meet every requirement.
func (s Selector) Matches(labels map[string]string) bool {
	for _, r := range s {
		if !r.Matches(labels) {
			return false
		}
	}
	return true
}

// Matches says whether labels meet the requirement. A label that is not there is in no list of values.
func (r Requirement) Matches(labels map[string]string) bool {
	value, there := labels[r.Key]
	switch r.Operator {
	case In:
		return there && slices.Contains(r.Values, value)
	case NotIn:
		return !there || !slices.Contains(r.Values, value)
	case Exists:
		return there
	case DoesNotExist:
		return !there
	}
	return false
}

// Validate says what is wrong with the selector: keys, values and operators, one by one.
func (s Selector) Validate() error {
	for _, r := range s {
		if err := r.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (r Requirement) validate() error {
	if err := validKey(r.Key); err != nil {
		return err
	}
	switch r.Operator {
	case In, NotIn:
		if len(r.Values) == 0 {
			return fmt.Errorf("label %q: %s needs at least one value", r.Key, r.Operator)
		}
	case Exists, DoesNotExist:
		if len(r.Values) > 0 {
			return fmt.Errorf("label %q: %s takes no value", r.Key, r.Operator)
		}
	default:
		return fmt.Errorf("label %q: operator %q is unknown: use In, NotIn, Exists or DoesNotExist", r.Key, string(r.Operator))
	}
	for _, v := range r.Values {
		if err := validValue(r.Key, v); err != nil {
			return err
		}
	}
	return nil
}

// String is the selector as Parse reads it.
func (s Selector) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}

// String is the requirement as Parse reads it.
func (r Requirement) String() string {
	switch {
	case r.Operator == Exists:
		return r.Key
	case r.Operator == DoesNotExist:
		return "!" + r.Key
	case r.Operator == In && len(r.Values) == 1:
		return r.Key + "=" + r.Values[0]
	case r.Operator == NotIn && len(r.Values) == 1:
		return r.Key + "!=" + r.Values[0]
	}
	return fmt.Sprintf("%s %s (%s)", r.Key, strings.ToLower(string(r.Operator)), strings.Join(r.Values, ","))
}
