#!/usr/bin/env bash
# Runs one case of Kubernetes' test/cmd suite against a server that runs already. test_cmd.py calls it in a writable copy
# of the sources, with THIS_PLATFORM_BIN (the programs under test), SECURE_API_PORT, HOME and WHAT (the case).
set -o errexit -o nounset -o pipefail
source hack/lib/init.sh
bin=$THIS_PLATFORM_BIN
source hack/lib/test.sh
THIS_PLATFORM_BIN=$bin
source test/cmd/legacy-script.sh

# The suite's own setup builds and starts everything; here that is done.
kube::etcd::cleanup() { :; }
kube::util::trap_add cleanup EXIT SIGINT
KUBE_TEMP=$(mktemp -d)  # removed at the end
kube::util::ensure-gnu-sed
CONTEXT=test
kubectl config set-credentials test-admin --token admin-token >/dev/null
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT" >/dev/null
kubectl config set-context "$CONTEXT" --user test-admin --cluster local >/dev/null
kubectl config use-context "$CONTEXT" >/dev/null

# Named in the singular, unlike all others.
run_secrets_tests() { run_secrets_test; }

SUPPORTED_RESOURCES=("*")
ALLOW_SKEW=1
runTests
