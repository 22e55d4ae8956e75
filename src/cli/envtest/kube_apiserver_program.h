// `kube-apiserver`: the API server with the flags, defaults and error messages of kube-apiserver, on the
// store in the data folder of `etcd` (etcd_program.h).
//
// Flags that `flyball apiserver` has work the same; --etcd-servers, --etcd-prefix, --cert-dir and --version
// work too. Every other flag of kube-apiserver is accepted, and named once in the log because it has no
// effect.
#pragma once

#include <string>
#include <vector>

namespace flyball::cli {

// Runs until a stop signal, or the end of the parent (envtest_settings.h). Returns the exit status.
int RunKubeApiserver(const std::vector<std::string>& arguments);

}  // namespace flyball::cli
