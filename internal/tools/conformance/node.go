package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// The Node.js version that the tools need, and the one that is installed if there is none
	// or an older one.
	nodeMajor, nodeMinor = 22, 19
	nodeVersion          = "22.23.3"
)

// toolbox has the paths of the official tools.
type toolbox struct{ node, modules string }

// install installs Node.js and the tools into a cache folder, unless they are there. npm
// must be on the PATH.
func install(ctx context.Context, pins string) (toolbox, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return toolbox{}, fmt.Errorf("npm was not found: install Node.js 18 or later with npm")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return toolbox{}, err
	}
	lock, err := os.ReadFile(filepath.Join(pins, "package-lock.json"))
	if err != nil {
		return toolbox{}, err
	}
	sum := sha256.Sum256(lock)
	base := filepath.Join(cache, "parapet-conformance")
	box := toolbox{modules: filepath.Join(base, "tools-"+hex.EncodeToString(sum[:6]), "node_modules")}
	if box.node, err = findNode(ctx, filepath.Join(base, "node-"+nodeVersion)); err != nil {
		return box, err
	}
	if _, err := os.Stat(filepath.Join(box.modules, ".package-lock.json")); err == nil {
		return box, nil
	}
	home := filepath.Dir(box.modules)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return box, err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join(pins, name))
		if err != nil {
			return box, err
		}
		if err := os.WriteFile(filepath.Join(home, name), text, 0o644); err != nil {
			return box, err
		}
	}
	// npm ci verifies the hashes of the lock file. The scripts of packages are not run.
	return box, npm(ctx, home, "ci", "--ignore-scripts")
}

// findNode returns the path of a recent Node.js: the one on the PATH, or else one that it installs.
func findNode(ctx context.Context, dir string) (string, error) {
	if path, err := exec.LookPath("node"); err == nil && newEnough(ctx, path) {
		return path, nil
	}
	path := filepath.Join(dir, "node_modules", "node", "bin", "node")
	if newEnough(ctx, path) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := npm(ctx, dir, "install", "--no-save", "node@"+nodeVersion); err != nil {
		return "", err
	}
	if !newEnough(ctx, path) {
		return "", fmt.Errorf("the package node@%s has no Node.js for this machine: put Node.js %d.%d or later on the PATH", nodeVersion, nodeMajor, nodeMinor)
	}
	return path, nil
}

func newEnough(ctx context.Context, path string) bool {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	if len(parts) < 2 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major > nodeMajor || (major == nodeMajor && minor >= nodeMinor))
}

func npm(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "npm", append(args, "--no-audit", "--no-fund")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// command returns a command that runs a script of the tools with the installed Node.js.
func (b toolbox) command(ctx context.Context, script string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.node, append([]string{filepath.Join(b.modules, filepath.FromSlash(script))}, args...)...)
	// A tool that starts a shell must find this Node.js and not an older one.
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(b.node)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return cmd
}
