package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "rvol/proto/admin/v1"
)

// dash stands in tables for what is not there.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func number[N ~int | ~int32 | ~int64 | ~uint64](n N) string { return fmt.Sprint(n) }

func percent(p float64) string { return strconv.FormatFloat(p, 'f', 1, 64) + " %" }

// maybePercent is "" for a value that is not known.
func maybePercent(p *float64) string {
	if p == nil {
		return ""
	}
	return percent(*p)
}

// pairs writes a map as k=v,k=v, sorted.
func pairs(m map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+"="+m[k])
	}
	return strings.Join(list, ",")
}

func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format(time.RFC3339)
}

func duration(d *durationpb.Duration) string {
	if d == nil {
		return ""
	}
	return short(d.AsDuration())
}

// short writes a duration in at most two units: "42s", "3m5s", "2h10m", "4d3h".
func short(d time.Duration) string {
	d = max(d, 0)
	seconds := int64(d / time.Second)
	units := []struct {
		name string
		size int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}
	for i, u := range units {
		if seconds < u.size {
			continue
		}
		text := fmt.Sprintf("%d%s", seconds/u.size, u.name)
		if rest := seconds % u.size; i+1 < len(units) && rest/units[i+1].size > 0 {
			text += fmt.Sprintf("%d%s", rest/units[i+1].size, units[i+1].name)
		}
		return text
	}
	return "0s"
}

func (a *app) age(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return short(a.env.Now().Sub(t.AsTime()))
}

// conditions makes a table of those that are worth a look in show: all of them, with their reasons.
func conditions(list []*adminv1.Condition) section {
	t := table{heads: []string{"TYPE", "STATUS", "REASON", "MESSAGE"}}
	for _, c := range list {
		t.rows = append(t.rows, []string{c.GetType(), c.GetStatus(), dash(c.GetReason()), dash(c.GetMessage())})
	}
	return section{"Conditions", t}
}

// condition finds one by its type; nil: there is none, which means that it is not known.
func condition(list []*adminv1.Condition, kind string) *adminv1.Condition {
	for _, c := range list {
		if c.GetType() == kind {
			return c
		}
	}
	return nil
}

// parsePairs reads k=v arguments.
func parsePairs(flag string, texts []string) (map[string]string, error) {
	m := map[string]string{}
	for _, text := range texts {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return nil, usage("--%s %s: want KEY=VALUE", flag, text)
		}
		if _, twice := m[k]; twice {
			return nil, usage("--%s %s: %s is given twice", flag, text, k)
		}
		m[k] = v
	}
	return m, nil
}
