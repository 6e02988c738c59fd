// Package lessons reads lessons for agent runs from the wiki, over HTTP with an API key for
// each tenant. A lesson is a page below <prefix>/<prefix of the task's project> that contains
// words of the task's title.
//
// It guarantees that a wiki that is down, slow or wrong never fails or delays a run for long:
// the result is then empty, and a warning is logged. The log never contains a token.
package lessons

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parapet/internal/contract/tracker"
	"parapet/internal/op"
	"parapet/internal/searchterms"
	"parapet/internal/wikipath"
)

const (
	// timeout limits all requests for one run together.
	timeout = 5 * time.Second
	// maxResponse is the maximum size of one response in bytes.
	maxResponse = 2 << 20
	// maxLessons is the maximum number of lessons, and maxText the maximum length of the text
	// of one in bytes.
	maxLessons = 5
	maxText    = 20_000
	// maxWords is the maximum number of words of a title that are searched for. Shorter words
	// are too frequent.
	maxWords      = 8
	minWordLength = 4
	// apiKeyType is the type in the header of an API key.
	apiKeyType = "pt-api-key+jwt" //nolint:gosec // the type of a token, not a token
)

// Lessons are the lessons for a task. The JSON is part of the input of the agent command.
type Lessons struct {
	Found   bool     `json:"found"`
	Lessons []Lesson `json:"lessons"`
}

// Lesson is a page of the wiki. Its title and text are untrusted.
type Lesson struct {
	Path     string `json:"path"`
	Title    string `json:"title"`
	Markdown string `json:"markdown"`
}

// Config configures a Client.
type Config struct {
	// BaseURL is the address of the wiki; empty if there is none.
	BaseURL string
	// Tokens are the API keys by tenant.
	Tokens map[op.UUID]string
	// Prefix is the path below which the lessons are.
	Prefix string
	Log    *slog.Logger
}

// Client reads lessons.
type Client struct {
	cfg  Config
	http *http.Client
}

// New returns a client. A client without an address or tokens finds nothing.
func New(cfg Config) *Client {
	return &Client{cfg: cfg, http: &http.Client{
		Timeout: timeout,
		// A redirect could send the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Find returns the lessons for a task. It never fails: the result is empty if a setting is
// missing, or if the wiki does not answer as expected.
func (c *Client) Find(ctx context.Context, tenant op.UUID, task *tracker.Task) Lessons {
	found, err := c.find(ctx, tenant, task)
	if err != nil {
		c.cfg.Log.WarnContext(ctx, "agent run: no lessons from the wiki", slog.String("tenant", string(tenant)), slog.Any("error", err))
		found = nil
	}
	if len(found) == 0 {
		return Lessons{Lessons: []Lesson{}}
	}
	return Lessons{Found: true, Lessons: found}
}

func (c *Client) find(ctx context.Context, tenant op.UUID, task *tracker.Task) ([]Lesson, error) {
	if c.cfg.BaseURL == "" || len(c.cfg.Tokens) == 0 {
		return nil, errors.New("WIKI_ZONE_URL and WIKI_SERVICE_TOKENS must be set")
	}
	token, ok := c.cfg.Tokens[tenant]
	if !ok {
		return nil, errors.New("WIKI_SERVICE_TOKENS has no token for the tenant")
	}
	if err := checkToken(token, tenant); err != nil {
		return nil, err
	}
	words := searchWords(task.Title)
	project, _, _ := strings.Cut(task.Key, "-")
	prefix, err := wikipath.Parse(c.cfg.Prefix + "/" + project)
	if words == "" || err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var hits struct {
		Items []struct{ Path string }
	}
	query := url.Values{"search": {words}, "prefix": {string(prefix)}, "limit": {strconv.Itoa(maxLessons)}}
	if err := c.get(ctx, token, "/api/pages/search?"+query.Encode(), &hits); err != nil {
		return nil, err
	}
	var found []Lesson
	for _, hit := range hits.Items[:min(len(hits.Items), maxLessons)] {
		path, err := wikipath.Parse(hit.Path)
		if err != nil {
			return nil, errors.New("the wiki returned an invalid path")
		}
		var lesson Lesson
		target := url.URL{Path: "/api/pages/by-path/" + string(path)}
		if err := c.get(ctx, token, target.EscapedPath(), &lesson); err != nil {
			return nil, err
		}
		lesson.Markdown = cut(lesson.Markdown)
		found = append(found, lesson)
	}
	return found, nil
}

// checkToken returns an error unless the token is an API key of the tenant. It does not verify
// the signature: the wiki does.
func checkToken(token string, tenant op.UUID) error {
	parts := strings.Split(token, ".")
	var header struct{ Typ string }
	var claims struct {
		Tenant op.UUID `json:"tenant_id"`
	}
	if len(parts) != 3 || decodePart(parts[0], &header) != nil || decodePart(parts[1], &claims) != nil {
		return errors.New("the token in WIKI_SERVICE_TOKENS is not a JWT")
	}
	if header.Typ != apiKeyType {
		return errors.New("the token in WIKI_SERVICE_TOKENS is not an API key")
	}
	if claims.Tenant != tenant {
		return errors.New("the token in WIKI_SERVICE_TOKENS belongs to another tenant")
	}
	return nil
}

func decodePart(part string, into any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// searchWords returns the search for pages that contain one of the words of a title.
func searchWords(title string) string {
	var words []string
	for _, word := range searchterms.Words(title) {
		if utf8.RuneCountInString(word) >= minWordLength && len(words) < maxWords && len(word) < 20 {
			words = append(words, word)
		}
	}
	return strings.Join(words, " OR ")
}

// get reads a JSON response.
func (c *Client) get(ctx context.Context, token, target string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.cfg.BaseURL+target, nil)
	if err != nil {
		return errors.New("WIKI_ZONE_URL is invalid")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the wiki cannot be reached: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	switch mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); {
	case err != nil:
		return fmt.Errorf("the response of the wiki cannot be read: %w", err)
	case len(body) > maxResponse:
		return errors.New("the response of the wiki is too large")
	case res.StatusCode != http.StatusOK:
		return responseError(res.StatusCode, body)
	case mediaType != "application/json" || json.Unmarshal(body, into) != nil:
		return errors.New("the response is not JSON, so it is not from the wiki")
	}
	return nil
}

// responseError returns the error for a status. Without the envelope of the wiki, the response
// comes from a proxy and says nothing about the token.
func responseError(status int, body []byte) error {
	var envelope struct{ Error struct{ Code string } }
	if json.Unmarshal(body, &envelope) == nil && envelope.Error.Code != "" {
		return fmt.Errorf("the wiki answered %d %.40q", status, envelope.Error.Code)
	}
	return fmt.Errorf("something in front of the wiki answered %d", status)
}

// cut returns the start of a text, at most maxText bytes.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
