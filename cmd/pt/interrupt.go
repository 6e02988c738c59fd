package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// interrupts cancels a context when pt gets SIGINT or SIGTERM. While a pager or an editor
// runs, SIGINT is for that program, and pt ignores it.
type interrupts struct{ ignored atomic.Bool }

// watch returns a context that ends at the next signal that pt does not ignore, and a
// function that stops watching.
func (i *interrupts) watch(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for {
			select {
			case s := <-signals:
				if s != os.Interrupt || !i.ignored.Load() {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

// ignore makes pt ignore SIGINT until the caller calls restore. The programs that pt starts
// still get the signal.
func (i *interrupts) ignore() (restore func()) {
	i.ignored.Store(true)
	return func() { i.ignored.Store(false) }
}
