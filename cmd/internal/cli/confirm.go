package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// consent is how somebody says that a command which destroys something is meant.
type consent struct {
	app   *app
	yes   bool
	typed string
}

// yesFlag lets --yes be enough.
func (c *consent) yesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do it without asking")
}

// nameFlag wants the name once more.
func (c *consent) nameFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.typed, "yes-i-mean", "", "do it without asking; `NAME` must be given once more")
}

// ask returns nil when name is meant. does says what the command does: "destroys its data".
func (c *consent) ask(cmd *cobra.Command, name, does string) error {
	switch {
	case c.yes || c.typed == name:
		return nil
	case c.typed != "":
		return usage("--yes-i-mean %s: it is not %s", c.typed, name)
	case !c.app.env.IsTerminal(c.app.env.Stdin):
		flag := "--yes"
		if cmd.Flags().Lookup("yes") == nil {
			flag = "--yes-i-mean " + name
		}
		f := usage("%s %s: this %s", verb(cmd), name, does)
		f.next = fmt.Sprintf("If that is meant, add %s.", flag)
		return f
	}
	c.app.tell("This %s. Type the name %s to go on: ", does, name)
	answer, err := bufio.NewReader(c.app.env.Stdin).ReadString('\n')
	if err != nil && answer == "" {
		c.app.tell("\n")
		return failed("%s: nothing was typed, nothing was done", name)
	}
	if strings.TrimSpace(answer) != name {
		return failed("%s: another name was typed, nothing was done", name)
	}
	return nil
}
