// `etcd` as envtest starts it: it holds a data folder and tells `kube-apiserver` (kube_apiserver_program.h)
// where that is, which then keeps its store there. It stores nothing itself and speaks no gRPC.
//
//   GET /health              {"health":"true","reason":""}
//   GET /version             as etcd answers it
//   GET /flyball/v1/store    {"dataDir":"/tmp/x","sync":false}, see store_location.h
#pragma once

#include <string>
#include <vector>

namespace flyball::cli {

// Runs until a stop signal, or the end of the parent (envtest_settings.h). Returns the exit status: etcd's 2
// for flags it does not know, 1 if it cannot serve.
int RunEtcd(const std::vector<std::string>& arguments);

}  // namespace flyball::cli
