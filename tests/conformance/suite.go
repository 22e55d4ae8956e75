//go:build tools

// Package conformance names the suite, so that go.mod and go.sum hold what building it takes.
package conformance

import _ "k8s.io/kubernetes/test/e2e"
