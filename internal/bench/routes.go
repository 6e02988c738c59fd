package main

import "context"

func routes(context.Context, *report) error { return nil }
