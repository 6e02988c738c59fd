package cli

import (
	"parapet/internal/contract/wiki"
)

func examplePage(path string) wiki.PageSummary {
	return wiki.PageSummary{
		ID: taskID, Path: path, Title: "Reader " + hostileText, Classification: "INTERNAL", Version: 3, SourceCommit: "0123abc",
		CreatedBy: worker, CreatedAt: createdTime, UpdatedBy: worker, UpdatedAt: updatedTime,
	}
}

func wikiGoldens() goldenGroup {
	const pages = "/api/pages/by-path/"
	put := func(path, result string) reply {
		return jsonReply(wiki.PutPageOut{PageSummary: examplePage(path), Result: result})
	}
	return goldenGroup{
		routes: map[string]reply{
			"PUT " + pages + "specs/reader-api":  put("specs/reader-api", wiki.PageUpdated),
			"PUT " + pages + "specs/guide/notes": put("specs/guide/notes", wiki.PageUnchanged),
			"PUT " + pages + "specs/hidden":      errorReply(404, "NOT_FOUND", "There is no such page.", ""),
			"PUT " + pages + "team/notes":        errorReply(412, "PRECONDITION_FAILED", "The page has version 4, not 3. Read it again, then repeat your change.", `,"details":{"currentVersion":4}`),
			"GET " + pages + "specs/reader-api":  jsonReply(wiki.Page{PageSummary: examplePage("specs/reader-api"), Markdown: "# Reader\n\n" + body}),
		},
		cases: []goldenCase{
			{"wiki-put", []string{"wiki", "put", "testdata/wiki", "--prefix", "specs", "--source-commit", "0123abc", "--idempotency-key", "k"}, environment{}},
			{"wiki-put-one-invalid", []string{"wiki", "put", "testdata/wiki/reader-api.md", "testdata/wiki/hidden.md", "--prefix", "specs", "--idempotency-key", "k"}, environment{}},
			{"wiki-put-stdin", []string{"wiki", "put", "-", "--path", "team/notes", "--if-version", "3", "--idempotency-key", "k"}, environment{stdin: "Notes.\n"}},
			{"wiki-put-no-path", []string{"wiki", "put", "-"}, environment{stdin: "Notes.\n"}},
			{"wiki-put-same-path", []string{"wiki", "put", "testdata/wiki/reader-api.md", "testdata/wiki"}, environment{}},
			{"wiki-put-bad-path", []string{"wiki", "put", "testdata/wiki", "--prefix", "../specs"}, environment{}},
			{"wiki-get", []string{"wiki", "get", "specs/reader-api"}, environment{}},
			{"wiki-get-bad-path", []string{"wiki", "get", "specs//reader-api"}, environment{}},
		},
	}
}
