package cli

import (
	"slices"
	"strconv"

	"parapet/internal/cli/markdown"
	"parapet/internal/cli/prose"
)

// style returns the style of the output: rendered on a terminal, plain otherwise.
func (inv *invocation) style() markdown.Style {
	forced := inv.Getenv("CLICOLOR_FORCE") != "" && inv.Getenv("CLICOLOR_FORCE") != "0"
	s := markdown.Style{Rendered: inv.OutTerminal || forced, Width: inv.Width}
	if inv.OutTerminal && inv.flags.time != timeAbsolute {
		s.Now = inv.Clock.Now()
	}
	s.Color = s.Rendered && (forced || (inv.Getenv("NO_COLOR") == "" && inv.Getenv("TERM") != "dumb"))
	links := s.Color && inv.OutTerminal && showsLinks(inv.Getenv)
	s.Prose = func(source string, width int) []string {
		return prose.Render(source, prose.Options{Width: width, Color: s.Color, Links: links})
	}
	return s
}

// showsLinks reports whether the terminal shows hyperlinks (OSC 8). No terminal says so
// itself, so the function knows those that do by their environment variables.
func showsLinks(getenv func(string) string) bool {
	if forced := getenv("FORCE_HYPERLINK"); forced != "" {
		return forced != "0"
	}
	if version, err := strconv.Atoi(getenv("VTE_VERSION")); err == nil && version >= 5000 {
		return true
	}
	return getenv("WT_SESSION") != "" || getenv("KITTY_WINDOW_ID") != "" ||
		slices.Contains([]string{"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper"}, getenv("TERM_PROGRAM")) ||
		slices.Contains([]string{"xterm-kitty", "xterm-ghostty", "alacritty", "foot"}, getenv("TERM"))
}
