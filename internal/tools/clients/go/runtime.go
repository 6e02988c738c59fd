// Package parapet is the generated Go client of the HTTP API. This file pins the module that
// the generated code imports; make clients adds the generated code.
package parapet

import _ "github.com/oapi-codegen/runtime"
