package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adminv1 "rvol/proto/admin/v1"
)

// The exit statuses.
const (
	exitOK = iota
	exitFailed
	exitUsage
	exitNotFound
	exitConflict
	exitNoSpace
	exitTimeout
	exitUnavailable
)

// failure is an error that knows its exit status and what to do about it.
type failure struct {
	code int
	what string // object and reason
	next string // sentences; empty: nothing to add
}

// Error is the reason without the next step.
func (f *failure) Error() string { return f.what }

func usage(format string, args ...any) *failure {
	return &failure{code: exitUsage, what: fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) *failure {
	return &failure{code: exitFailed, what: fmt.Sprintf(format, args...)}
}

// exit prints err, if there is one, and returns the exit status.
func (a *app) exit(ctx context.Context, cmd *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	f := new(failure)
	if !errors.As(err, &f) {
		f = a.explain(ctx, err)
	}
	next := f.next
	if f.code == exitUsage && next == "" {
		next = fmt.Sprintf("See `%s --help`.", cmd.CommandPath())
	}
	text := "rvol: " + sentence(f.what)
	if next != "" {
		text += " " + next
	}
	a.tell("%s\n", text)
	return f.code
}

// exitOf says which exit status an answer of the server is.
func exitOf(code codes.Code) int {
	switch code {
	case codes.OK:
		return exitOK
	case codes.InvalidArgument:
		return exitUsage
	case codes.NotFound:
		return exitNotFound
	case codes.AlreadyExists, codes.Aborted, codes.FailedPrecondition:
		return exitConflict
	case codes.ResourceExhausted:
		return exitNoSpace
	case codes.DeadlineExceeded:
		return exitTimeout
	case codes.Unavailable:
		return exitUnavailable
	default:
		return exitFailed
	}
}

// explain turns an answer of the server into a failure.
func (a *app) explain(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return failed("interrupted")
	}
	s, ok := status.FromError(err)
	if !ok {
		return failed("%s", err)
	}
	f := &failure{code: exitOf(s.Code()), what: plain(err)}
	r := refusalOf(s)
	if r.GetRetryAfter() != nil {
		f.code = exitUnavailable
	}
	if r != nil {
		f.next = capital(sentence(r.GetNext()))
	}
	switch {
	case s.Code() == codes.NotFound:
		f.next = a.hint(ctx, r.GetObject(), f)
	case f.next != "":
	case s.Code() == codes.Aborted:
		f.next = "Look at it again and repeat the command."
	case s.Code() == codes.DeadlineExceeded:
		f.next = "Ask for more time with --timeout."
	case s.Code() == codes.Unimplemented:
		f.next = "The coordinator is older than this rvol: upgrade it."
	case s.Code() == codes.PermissionDenied || s.Code() == codes.Unauthenticated:
		f.next = "Use a certificate of a role that may: see `rvol-coordinator admin-cert --help`."
	}
	return f
}

// plain is the text of an error without the words of gRPC.
func plain(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

func refusalOf(s *status.Status) *adminv1.Refusal {
	for _, d := range s.Details() {
		if r, ok := d.(*adminv1.Refusal); ok {
			return r
		}
	}
	return nil
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".?!`") && !strings.HasSuffix(text, "`") {
		return text
	}
	return text + "."
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// notFound is the answer for a name that a list does not have.
func (a *app) notFound(ctx context.Context, kind, name string) *failure {
	f := &failure{code: exitNotFound, what: fmt.Sprintf("%s %s: not found", kind, name)}
	f.next = a.hint(ctx, kind+"/"+name, f)
	return f
}

// hint says where to look for an object (its key) that was not found, and which one may have been meant.
func (a *app) hint(ctx context.Context, object string, f *failure) string {
	kind, name, ok := strings.Cut(object, "/")
	if !ok {
		return f.next
	}
	list, ok := a.lists()[kind]
	if !ok {
		return f.next
	}
	next := f.next
	if next == "" {
		next = fmt.Sprintf("See `rvol %s list`.", kind)
		if kind == "member" {
			next = "See `rvol cluster members`."
		}
	}
	ctx, cancel := context.WithTimeout(ctx, quickly)
	defer cancel()
	names, err := list(quietly(ctx))
	if err != nil || slices.Contains(names, name) {
		return next // the hint is a courtesy; the refusal itself stands, and may be about something else
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("Did you mean %s? %s", near, next)
	}
	return next
}
