package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/internal/dev"
)

const (
	benchTasks  = 2000
	connections = 16
	rounds      = 5
	roundLength = 2 * time.Second
)

// routes measures GET /api/projects/<id>/tasks?limit=50 with all checks (token, principal
// check, tenant context, policy filter, row-level security) and the same page of the same
// rows from plain gin and pgx as the database's owner. The two alternate, so that both run
// under the same conditions.
func routes(ctx context.Context, r *report) error {
	dir, err := os.MkdirTemp("", "parapet-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	settings := map[string]string{"PORT": "0", "PT_LOG_LEVEL": "error"}
	d, err := dev.Start(ctx, dev.Options{DataDir: dir, Getenv: func(n string) string { return settings[n] }, Version: "bench", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer d.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	token, tenant, project, err := prepareProject(ctx, d.Info())
	if err != nil {
		return err
	}
	bare, err := newBare(ctx, d.Info())
	if err != nil {
		return err
	}
	defer bare.close()
	full := d.Info().BaseURL + "/api/projects/" + project + "/tasks?limit=50"
	plain := bare.url + "/bare/" + tenant + "/" + project
	if err := requireSameTasks(ctx, full, token, plain); err != nil {
		return err
	}
	var fullRates, bareRates []float64
	for range rounds {
		b, err := load(ctx, plain, "")
		if err != nil {
			return err
		}
		w, err := load(ctx, full, token)
		if err != nil {
			return err
		}
		bareRates, fullRates = append(bareRates, b), append(fullRates, w)
	}
	slices.Sort(bareRates)
	slices.Sort(fullRates)
	base := bareRates[rounds/2]
	if err := r.add(figure{Name: "route/list-tasks/bare", Value: base, Unit: "req/s"}); err != nil {
		return err
	}
	if err := r.add(figure{Name: "route/list-tasks/walled", Value: fullRates[rounds/2], Unit: "req/s", Baseline: "bare gin and pgx", BaselineValue: &base}); err != nil {
		return err
	}
	cancel()
	return <-done
}

// prepareProject logs in as acme's project manager and creates a project with tasks.
func prepareProject(ctx context.Context, info dev.Info) (token, tenant, project string, err error) {
	token, tenant, project, err = createProject(ctx, info)
	if err != nil {
		return "", "", "", err
	}
	for from := 0; from < benchTasks; from += 500 {
		var items []map[string]any
		for i := from; i < min(from+500, benchTasks); i++ {
			items = append(items, map[string]any{"id": fmt.Sprintf("b-%d", i), "title": fmt.Sprintf("Work item number %d of the measured project", i), "description": "What is to be done, in a few words."})
		}
		if err := call(ctx, "POST", info.BaseURL+"/api/projects/"+project+"/import", token, map[string]any{"items": items}, nil); err != nil {
			return "", "", "", err
		}
	}
	return token, tenant, project, nil
}

// createProject logs in as acme's project manager and creates a project.
func createProject(ctx context.Context, info dev.Info) (token, tenant, project string, err error) {
	var login struct{ Token, TenantID string }
	for _, t := range info.Tenants {
		for _, u := range t.Users {
			if t.Slug == "acme" && u.Email == "project-manager@acme.example" && u.Password != nil {
				err = call(ctx, "POST", info.BaseURL+"/api/auth/login", "", map[string]any{"email": u.Email, "password": *u.Password}, &login)
			}
		}
	}
	if err != nil || login.Token == "" {
		return "", "", "", fmt.Errorf("login: %w", err)
	}
	var made struct{ ID string }
	if err := call(ctx, "POST", info.BaseURL+"/api/projects", login.Token, map[string]any{"name": "Bench", "startDate": "2027-01-01", "prefix": "BENCH"}, &made); err != nil {
		return "", "", "", err
	}
	return login.Token, login.TenantID, made.ID, nil
}

func call(ctx context.Context, method, url, token string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, url, resp.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// bareServer serves the page with gin and pgx only.
type bareServer struct {
	pool *pgxpool.Pool
	srv  *http.Server
	url  string
}

// bareSQL selects the columns of the measured route's response from the same tables.
const bareSQL = `
SELECT t.id::text AS id, p.prefix || '-' || t.number AS key, t.project_id::text AS project_id, t.title, t.status, t.status_category,
       t.issue_type, t.priority, t.progress, t.assignee_id::text AS assignee, t.due_date::text AS due_date, t.epic_id::text AS epic_id,
       t.parent_task_id::text AS parent_id, t.labels, t.created_by::text AS created_by, t.created_at, t.updated_at, t.completed_at
FROM projects.projects p
JOIN projects.tasks t ON t.tenant_id = $1 AND t.project_id = $2
WHERE p.tenant_id = $1 AND p.id = $2 ORDER BY t.number DESC LIMIT 51`

func newBare(ctx context.Context, info dev.Info) (*bareServer, error) {
	cfg, err := pgxpool.ParseConfig(info.DirectURL)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.GET("/bare/:tenant/:project", func(c *gin.Context) {
		rows, err := pool.Query(c.Request.Context(), bareSQL, c.Param("tenant"), c.Param("project"))
		if err != nil {
			c.String(500, err.Error())
			return
		}
		items, err := pgx.CollectRows(rows, pgx.RowToStructByName[bareTask])
		if err != nil {
			c.String(500, err.Error())
			return
		}
		c.JSON(200, gin.H{"items": items[:min(50, len(items))]})
	})
	b := &bareServer{pool: pool, srv: &http.Server{Handler: e, ReadHeaderTimeout: time.Second}, url: "http://" + l.Addr().String()}
	go func() { _ = b.srv.Serve(l) }()
	return b, nil
}

func (b *bareServer) close() {
	_ = b.srv.Close()
	b.pool.Close()
}

type bareTask struct {
	ID             string     `db:"id" json:"id"`
	Key            string     `db:"key" json:"key"`
	ProjectID      string     `db:"project_id" json:"projectId"`
	Title          string     `db:"title" json:"title"`
	Status         string     `db:"status" json:"status"`
	StatusCategory string     `db:"status_category" json:"statusCategory"`
	IssueType      string     `db:"issue_type" json:"issueType"`
	Priority       string     `db:"priority" json:"priority"`
	Progress       int        `db:"progress" json:"progress"`
	Assignee       *string    `db:"assignee" json:"assignee,omitempty"`
	DueDate        *string    `db:"due_date" json:"dueDate,omitempty"`
	EpicID         *string    `db:"epic_id" json:"epicId,omitempty"`
	ParentTaskID   *string    `db:"parent_id" json:"parentTaskId,omitempty"`
	Labels         []string   `db:"labels" json:"labels"`
	CreatedBy      string     `db:"created_by" json:"createdBy"`
	CreatedAt      time.Time  `db:"created_at" json:"createdAt"`
	UpdatedAt      time.Time  `db:"updated_at" json:"updatedAt"`
	CompletedAt    *time.Time `db:"completed_at" json:"completedAt,omitempty"`
}

// requireSameTasks verifies that both routes return the same fifty tasks.
func requireSameTasks(ctx context.Context, full, token, plain string) error {
	var a, b struct {
		Items []struct{ ID, Title, Status string }
	}
	if err := call(ctx, "GET", full, token, nil, &a); err != nil {
		return err
	}
	if err := call(ctx, "GET", plain, "", nil, &b); err != nil {
		return err
	}
	if len(a.Items) != 50 || !slices.Equal(a.Items, b.Items) {
		return fmt.Errorf("the two routes return different pages: %d and %d items", len(a.Items), len(b.Items))
	}
	return nil
}

// load requests the page repeatedly for the length of a round and returns the rate of
// successful responses.
func load(ctx context.Context, url, token string) (float64, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var good, bad atomic.Int64
	end := time.Now().Add(roundLength)
	var group sync.WaitGroup
	for range connections {
		group.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
				if err != nil {
					bad.Add(1)
					return
				}
				if token != "" {
					req.Header.Set("Authorization", "Bearer "+token)
				}
				resp, err := client.Do(req)
				if err != nil {
					bad.Add(1)
					continue
				}
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != 200 {
					bad.Add(1)
					continue
				}
				good.Add(1)
			}
		})
	}
	group.Wait()
	if bad.Load() > 0 {
		return 0, fmt.Errorf("%s: %d requests failed", url, bad.Load())
	}
	return float64(good.Load()) / roundLength.Seconds(), nil
}
