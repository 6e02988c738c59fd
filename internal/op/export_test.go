package op

// The tables of examples, for the tests of the whole document.
var (
	ExampleValues  = exampleValues
	ExampleFields  = exampleFields
	ExampleOmitted = exampleOmitted
)
