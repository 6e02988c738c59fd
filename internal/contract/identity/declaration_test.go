package identity_test

import (
	"testing"

	"parapet/internal/contract/identity"
)

// Authorization depends on the integration key, so no API operation may set it.
func TestOperations_DoNotAcceptAnIntegrationKey(t *testing.T) {
	t.Parallel()
	for _, o := range identity.Contract.Operations() {
		for _, f := range o.Fields {
			if f.Name == "integrationKey" || f.Name == "integration_key" {
				t.Errorf("%s accepts the field %s", o.Name, f.Name)
			}
		}
	}
}
