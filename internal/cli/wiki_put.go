package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"parapet/internal/cli/markdown"
	"parapet/internal/cli/text"
	"parapet/internal/client"
	"parapet/internal/contract/wiki"
	"parapet/internal/fault"
	"parapet/internal/wikipath"
)

type wikiPutOptions struct {
	inv                                 *invocation
	prefix, path, title, classification string
	commit                              string
	ifVersion                           int
	// setsVersion reports whether --if-version is set.
	setsVersion func() bool
	writeFlags
}

func newWikiPutCmd(inv *invocation) *cobra.Command {
	o := &wikiPutOptions{inv: inv}
	cmd := &cobra.Command{
		Use:   "put <file>...",
		Short: "Publish Markdown files as pages",
		Long: `Publish Markdown files as wiki pages. The path of a page is the prefix and the name of
the file without .md. A directory stands for the .md files in it and below; their paths
contain the folders. With --path, one file or - for standard input becomes one page.

If title, text and classification of a page are the same, its version does not change.
Otherwise the page gets a new version, and the old one stays in its history. pt publishes
all files that it can, reports the others, and exits with code 1 if there are any.

The title is the heading of level 1 with which the text starts, or else the last segment
of the path.`,
		Example: `  pt wiki put specs/*.md --prefix specs
  pt wiki put docs --prefix handbook --source-commit "$(git rev-parse HEAD)"
  pt wiki put notes.md --path team/notes --if-version 3
  pt wiki put - --path team/notes < notes.md`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&o.prefix, "prefix", "", "the `path` below which the pages are published (default: the root)")
	f.StringVar(&o.path, "path", "", "the `path` of the page, if there is one file")
	f.StringVar(&o.title, "title", "", "the `title` of the page, if there is one file")
	f.StringVar(&o.classification, "classification", "", "the `classification` of the pages (default: UNCLASSIFIED for new pages, unchanged for others)")
	f.StringVar(&o.commit, "source-commit", "", "the `hash` of the commit that contains the files")
	f.IntVar(&o.ifVersion, "if-version", 0, "write only if this is the current `version`, if there is one file; 0: only if the page does not exist")
	for _, name := range []string{"prefix", "path", "title", "source-commit", "if-version"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	must(cmd.RegisterFlagCompletionFunc("classification", cobra.FixedCompletions([]string{"UNCLASSIFIED", "INTERNAL", "RESTRICTED", "CONFIDENTIAL", "SECRET"}, cobra.ShellCompDirectiveNoFileComp)))
	o.bind(cmd)
	cmd.MarkFlagsMutuallyExclusive("prefix", "path")
	o.setsVersion = func() bool { return f.Changed("if-version") }
	return inv.setRun(cmd, reflect.TypeFor[wikiPutOut](), o.run)
}

// wikiPutOut is the output of pt wiki put.
type wikiPutOut struct {
	Created   int             `json:"created"`
	Updated   int             `json:"updated"`
	Restored  int             `json:"restored"`
	Unchanged int             `json:"unchanged"`
	Failed    int             `json:"failed"`
	Seconds   float64         `json:"seconds"`
	Pages     []publishedPage `json:"pages"`
}

// publishedPage is what became of one file.
type publishedPage struct {
	File    string `json:"file"`
	Path    string `json:"path"`
	Result  string `json:"result"`
	Version int    `json:"version,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// wikiFile is a file with the path of its page.
type wikiFile struct {
	name string
	path wikipath.Path
}

func (o *wikiPutOptions) run(ctx context.Context, args []string) error {
	files, err := o.files(args)
	if err != nil {
		return err
	}
	if (o.title != "" || o.setsVersion()) && len(files) != 1 {
		return usagef("--title and --if-version require one file")
	}
	c, _, err := o.inv.connect()
	if err != nil {
		return err
	}
	start := o.inv.Clock.Now()
	key := firstNonEmpty(o.key, client.NewID())
	out := wikiPutOut{Pages: []publishedPage{}}
	for i, f := range files {
		o.inv.showProgress("%d of %d files", i, len(files))
		page, err := o.publish(ctx, c, f, fmt.Sprintf("%s-%d", key, i+1))
		if isAboutFile(err) && len(files) > 1 {
			page.Problem, err = problemText(err), nil
		}
		if err != nil {
			o.inv.clearProgress()
			return err
		}
		out.add(page)
	}
	o.inv.clearProgress()
	out.Seconds = math.Round(o.inv.Clock.Now().Sub(start).Seconds()*100) / 100
	if !o.inv.wantsJSON() {
		for _, p := range out.Pages {
			if p.Problem != "" {
				o.inv.printNote("%s: %s", text.Line(p.File), text.Line(p.Problem))
			}
		}
	}
	if err := o.inv.show(ctx, view{data: out, markdown: out.markdown}); err != nil {
		return err
	}
	if out.Failed > 0 {
		return errReported
	}
	return nil
}

// files returns the files that the arguments name, with the paths of their pages.
func (o *wikiPutOptions) files(args []string) ([]wikiFile, error) {
	if o.path != "" {
		path, err := wikipath.Parse(o.path)
		if err != nil || len(args) != 1 {
			return nil, usagef("--path requires one file, and the path %w", firstError(err, errors.New("of one page")))
		}
		return []wikiFile{{args[0], path}}, nil
	}
	var files []wikiFile
	for _, arg := range args {
		found, err := o.filesOf(arg)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, usagef("there are no .md files in %s", text.Line(strings.Join(args, ", ")))
	}
	seen := map[wikipath.Path]string{}
	for _, f := range files {
		if other, ok := seen[f.path]; ok {
			return nil, usagef("%s and %s have the same path %s", text.Line(other), text.Line(f.name), f.path)
		}
		seen[f.path] = f.name
	}
	return files, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// filesOf returns the file, or the Markdown files in the directory.
func (o *wikiPutOptions) filesOf(arg string) ([]wikiFile, error) {
	if arg == "-" {
		return nil, usagef("standard input requires --path")
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, usage(err)
	}
	if !info.IsDir() {
		f, err := o.newFile(arg, filepath.Base(arg))
		return []wikiFile{f}, err
	}
	var files []wikiFile
	err = filepath.WalkDir(arg, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !entry.Type().IsRegular() || wikipath.TrimExtension(entry.Name()) == entry.Name() {
			return err
		}
		relative, err := filepath.Rel(arg, name)
		if err != nil {
			return err
		}
		f, err := o.newFile(name, relative)
		files = append(files, f)
		return err
	})
	if err != nil {
		return nil, usage(err)
	}
	return files, nil
}

// newFile returns a file whose path below the prefix is that of its name.
func (o *wikiPutOptions) newFile(name, relative string) (wikiFile, error) {
	joined := wikipath.TrimExtension(filepath.ToSlash(relative))
	if o.prefix != "" {
		joined = strings.TrimSuffix(o.prefix, "/") + "/" + joined
	}
	path, err := wikipath.Parse(joined)
	if err != nil {
		return wikiFile{}, usagef("%s: the path %q %w", text.Line(name), joined, err)
	}
	return wikiFile{name, path}, nil
}

// publish writes the page of a file.
func (o *wikiPutOptions) publish(ctx context.Context, c *client.Client, f wikiFile, key string) (publishedPage, error) {
	page := publishedPage{File: f.name, Path: string(f.path), Result: "failed"}
	content, err := o.read(f.name)
	if err != nil {
		return page, usage(err)
	}
	in := &wiki.PutPageIn{Path: page.Path, Title: o.title, Markdown: string(content), Classification: strings.ToUpper(o.classification), SourceCommit: o.commit}
	if o.setsVersion() {
		in.IfVersion = &o.ifVersion
	}
	out, err := client.Do(ctx, c, wiki.PutPage, in, client.WithIdempotencyKey(key))
	if err != nil {
		return page, err
	}
	page.Result, page.Version = out.Result, out.Version
	return page, nil
}

// isAboutFile reports whether an error concerns only one file, so that others can succeed.
func isAboutFile(err error) bool {
	var wrong *usageError
	if errors.As(err, &wrong) {
		return true
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		return false
	}
	switch f.Code {
	case fault.CodeValidation, fault.CodeNotFound, fault.CodeConflict, fault.CodePrecondition, fault.CodePayloadTooLarge:
		return true
	default:
		return false
	}
}

// problemText returns the message of an error about one file.
func problemText(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Message
	}
	return err.Error()
}

func (o *wikiPutOptions) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(o.inv.In)
	}
	return os.ReadFile(name) //nolint:gosec // the user chooses the file
}

func (out *wikiPutOut) add(page publishedPage) {
	out.Pages = append(out.Pages, page)
	switch page.Result {
	case wiki.PageCreated:
		out.Created++
	case wiki.PageUpdated:
		out.Updated++
	case wiki.PageRestored:
		out.Restored++
	case wiki.PageUnchanged:
		out.Unchanged++
	default:
		out.Failed++
	}
}

// markdown writes the pages that changed, and the counts.
func (out wikiPutOut) markdown(d *markdown.Doc) {
	var rows [][]string
	for _, p := range out.Pages {
		if p.Version > 0 && p.Result != wiki.PageUnchanged {
			rows = append(rows, []string{p.Path, p.Result, fmt.Sprint(p.Version)})
		}
	}
	if len(rows) > 0 {
		d.Table([]string{"Path", "Result", "Version"}, rows, 0)
	}
	d.Line(fmt.Sprintf("%d created, %d updated, %d restored, %d unchanged, %d failed, in %g s.", out.Created, out.Updated, out.Restored, out.Unchanged, out.Failed, out.Seconds))
}
