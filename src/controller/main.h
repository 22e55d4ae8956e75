// Main: runs a complete controller program in one call: flags, kubeconfig or in-cluster configuration,
// signals, leader lease, health and metrics.
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

// Declares the program's controllers on a manager that has not been started. Also runs for --print-crds, with
// a client that reaches no server, so it should not send requests.
using Setup = std::function<Status(Manager& manager)>;

// Returns the exit code: 0 after SIGINT, SIGTERM or SIGHUP, 1 after an error or when leadership was lost.
// Flags:
//   --kubeconfig, --context     where the server is; default: in-cluster, $KUBECONFIG, ~/.kube/config
//   --namespace                 watch only this namespace
//   --leader-elect, --leader-elect-namespace, --leader-elect-name, --leader-elect-lease-duration,
//   --leader-elect-renew-deadline, --leader-elect-retry-period
//   --bind-address              serve /metrics, /healthz and /readyz there ("127.0.0.1:8081"); default: off
//   --print-crds                print the CustomResourceDefinitions of the kinds it is For, and exit
//   --install-crds              apply them at startup
//   --threads                   number of threads for reconcilers
//   -v, --verbose
int Main(int argc, char** argv, const Setup& setup, ManagerOptions options = {});

}  // namespace flyball
