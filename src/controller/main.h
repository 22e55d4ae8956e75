// Main: a whole program of controllers in one call: flags, kubeconfig or in-cluster, signals, leader lease,
// health and metrics.
//
//   int main(int argc, char** argv) {
//     return Main(argc, argv, [](Manager& manager) { return manager.For<Network>().Reconcile(&Reconcile); });
//   }
#pragma once

#include <functional>
#include <string>

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball {

// Describes the program's controllers to a manager that is not yet started. Also run for --print-crds, with a
// client that reaches nobody: it should not talk to the server.
using Setup = std::function<Status(Manager& manager)>;

// Returns the exit code: 0 after SIGINT, SIGTERM or SIGHUP, 1 after an error or when leadership was lost.
// Flags:
//   --kubeconfig, --context     where the server is; default: in-cluster, $KUBECONFIG, ~/.kube/config
//   --namespace                 watch this namespace only
//   --leader-elect, --leader-elect-namespace, --leader-elect-name, --leader-elect-lease-duration,
//   --leader-elect-renew-deadline, --leader-elect-retry-period
//   --bind-address              serve /metrics, /healthz and /readyz there ("127.0.0.1:8081"); default: not
//   --print-crds                print the CustomResourceDefinitions of the kinds it is For, and end
//   --install-crds              apply them at the start
//   --threads                   for reconcilers
//   -v, --verbose
int Main(int argc, char** argv, const Setup& setup, ManagerOptions options = {});

}  // namespace flyball
