package archtest

import (
	"go/ast"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestClient_LinksNoServerPackages checks all dependencies of cmd/pt. A single import can
// turn the client into a binary of 40 MB that starts in 50 ms.
func TestClient_LinksNoServerPackages(t *testing.T) {
	t.Parallel()
	r := repo(t)
	if slices.Contains(planned, "cmd/pt") {
		return // TestPlanned_ContainsNoExistingPackage fails if it exists
	}
	banned := map[string][]string{"OPA": opa, "pgx": pgx, "gin": gin, "River": river, "jwx": jwx, "OpenTelemetry": otel, "gRPC": {"google.golang.org/grpc"}}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/pt")
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps ./cmd/pt: %v\n%s", err, out)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 50 {
		t.Fatalf("go list: got %d packages, want more", len(deps))
	}
	for _, dep := range deps {
		for name, paths := range banned {
			if isWithin(dep, paths...) {
				t.Errorf("pt links %s (%s): pt must start in under 10 ms and contain no server package", name, dep)
			}
		}
	}
}

// TestMain_OnlyCallsRun: tests can start and stop run, but not main.
func TestMain_OnlyCallsRun(t *testing.T) {
	t.Parallel()
	const most = 6
	for _, p := range repo(t).packages {
		if !isWithin(p.path, "cmd") {
			continue
		}
		found := false
		for _, file := range p.files {
			if file.test {
				continue
			}
			for _, decl := range file.tree.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || fn.Name.Name != "main" {
					continue
				}
				found = true
				if n := len(fn.Body.List); n > most {
					t.Errorf("%s: main has %d statements, more than %d: move them to run", file.path, n, most)
				}
				if !calls(fn.Body, "run", "Run", "Main") {
					t.Errorf("%s: main does not call run", file.path)
				}
			}
		}
		if !found {
			t.Errorf("%s has no func main: move the package to internal", p.path)
		}
	}
}

func calls(body ast.Node, names ...string) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, name := range names {
			switch fun := call.Fun.(type) {
			case *ast.Ident:
				found = found || fun.Name == name
			case *ast.SelectorExpr:
				found = found || fun.Sel.Name == name
			}
		}
		return true
	})
	return found
}
