package main

import "context"

func outbox(ctx context.Context, r *report) error { return nil }
