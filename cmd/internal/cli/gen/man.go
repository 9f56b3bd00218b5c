package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pages makes a page for rvol and one for each noun, which holds all its verbs: rvol.1, rvol-volume.1, ...
func pages(root *cobra.Command) map[string]string {
	all := map[string]string{"rvol.1": page(root, nouns(root))}
	for _, noun := range root.Commands() {
		if noun.IsAvailableCommand() && noun.HasAvailableSubCommands() {
			all["rvol-"+noun.Name()+".1"] = page(noun, verbs(noun))
		}
	}
	return all
}

func page(c *cobra.Command, body string) string {
	title := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" rvol \"rvol manual\"\n", strings.ToUpper(title))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(title), escape(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I command\n[\\fIflags\\fR]\n", escape(c.CommandPath()))
	if c.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", paragraphs(c.Long))
	}
	return b.String() + body
}

// nouns are the body of the first page: what there is, and the flags that everything takes.
func nouns(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(".SH COMMANDS\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s.\n", escape(c.CommandPath()), escape(c.Short))
		}
	}
	b.WriteString(".SH COMMANDS WITHOUT A NOUN\n")
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && !c.HasAvailableSubCommands() {
			b.WriteString(verb(c))
		}
	}
	b.WriteString(".SH FLAGS OF EVERY COMMAND\n")
	b.WriteString(flags(root.PersistentFlags()))
	return b.String()
}

// verbs are the body of a noun's page. Groups within the noun are told by their own verbs.
func verbs(noun *cobra.Command) string {
	var b strings.Builder
	b.WriteString(".SH COMMANDS\n")
	var each func(*cobra.Command)
	each = func(parent *cobra.Command) {
		for _, c := range parent.Commands() {
			switch {
			case c.HasAvailableSubCommands():
				each(c)
			case c.IsAvailableCommand():
				b.WriteString(verb(c))
			}
		}
	}
	each(noun)
	b.WriteString(".SH SEE ALSO\n.BR rvol (1)\nfor the flags of every command.\n")
	return b.String()
}

func verb(c *cobra.Command) string {
	var b strings.Builder
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(&b, ".SS %s\n%s\n", escape(strings.TrimSuffix(c.UseLine(), " [flags]")), paragraphs(text))
	b.WriteString(flags(c.LocalNonPersistentFlags()))
	if c.Example != "" {
		fmt.Fprintf(&b, ".PP\n.EX\n%s\n.EE\n", escape(c.Example))
	}
	return b.String()
}

func flags(set *pflag.FlagSet) string {
	var b strings.Builder
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR", escape(name))
		if value != "" {
			fmt.Fprintf(&b, " \\fI%s\\fR", escape(value))
		}
		fmt.Fprintf(&b, "\n%s.\n", escape(text))
	})
	return b.String()
}

func paragraphs(text string) string {
	return strings.ReplaceAll(escape(strings.TrimSpace(text)), "\n\n", "\n.PP\n")
}

// escape keeps troff from reading our text as its own: backslashes, hyphens that are minus signs, dots and quotes in front.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
