#include "cli/envtest/testserver_command.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "base/files/temporary_folder.h"
#include "cli/programs/cluster.h"
#include "cli/programs/server_process.h"
#include "cli/programs/signals.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball::cli {
namespace {

constexpr std::size_t kTokenBytes = 16;

struct TestserverFlags {
  std::string print = "text";
  bool controllers = false;
  int nodes = 1;
  int port = 0;
};

// Where files are in memory, if the system has such a place and the user has not chosen another: syncing a
// few small files to disk would take longer than all the rest of the start.
std::filesystem::path MemoryFolder() {
  constexpr const char* kSharedMemory = "/dev/shm";
  return !std::getenv("TMPDIR") && ::access(kSharedMemory, W_OK) == 0 ? kSharedMemory : "";
}

// The administrator's bearer token, in the file that --token-auth-file names.
Result<std::string> MakeToken(const TemporaryFolder& folder, ServerProcessOptions& options) {
  std::string token;
  for (const char byte : net::RandomBytes(kTokenBytes)) {
    constexpr std::string_view kHex = "0123456789abcdef";
    token += kHex[static_cast<unsigned char>(byte) >> 4];
    token += kHex[static_cast<unsigned char>(byte) & 15];
  }
  FLYBALL_ASSIGN(options.api.authentication.token_auth_file,
                 folder.Write("tokens.csv", token + ",test-admin,test-admin,\"system:masters\"\n"));
  return token;
}

void PrintServer(const TestserverFlags& flags, const ServerProcess& server, const std::string& token) {
  if (flags.print == "json")
    std::cout << json::Write(json::Object{{"url", server.url()},
                                          {"ca", server.pki().server_ca_pem},
                                          {"token", token},
                                          {"kubeconfig", server.kubeconfig_path()}})
              << std::endl;
  else
    std::cout << "serving " << server.url() << "\nkubeconfig " << server.kubeconfig_path() << std::endl;
}

Status RunTestserver(const TestserverFlags& flags) {
  BlockStopSignals();
  FLYBALL_ASSIGN(const auto parent, ParentWatch::Start());
  FLYBALL_ASSIGN(const TemporaryFolder folder, TemporaryFolder::Make(MemoryFolder()));
  ServerProcessOptions options;
  options.serving.data_dir = folder.path().string();
  options.serving.port = flags.port;
  options.store.in_memory = true;
  FLYBALL_ASSIGN(const std::string token, MakeToken(folder, options));
  if (flags.controllers) PrepareForLocalCluster(options);
  FLYBALL_ASSIGN(auto server, ServerProcess::Start(std::move(options)));
  std::unique_ptr<LocalCluster> components;
  if (flags.controllers) {
    LocalClusterOptions cluster;
    cluster.nodes = {.runtime = "sim", .data_dir = folder.path().string(), .names = NodeNames(flags.nodes)};
    FLYBALL_ASSIGN(components, LocalCluster::Start(*server, std::move(cluster)));
  }
  PrintServer(flags, *server, token);
  WaitForStopSignal();
  components.reset();
  server.reset();
  return {};
}

}  // namespace

void AddTestserverCommand(const Command& root) {
  const Command command = root.Sub(
      "testserver", "Run an API server for one test: in memory, on a free port, gone with its parent",
      "flyball testserver --print json   # one line: url, ca, token, kubeconfig");
  auto flags = std::make_shared<TestserverFlags>();
  command.Option("--print", &flags->print, "How to say that it is ready: text, or json in one line");
  command.Flag("--controllers", &flags->controllers,
               "Also run controllers, scheduler and simulated nodes: namespaces go, Deployments make pods");
  command.Option("--nodes", &flags->nodes, "How many nodes, with --controllers");
  command.Option("--port", &flags->port, "Port to listen on; 0: any free one");
  command.RunLocal([flags] {
    if (flags->print != "text" && flags->print != "json") {
      std::cerr << "error: --print is text or json, not \"" << flags->print << "\"\n";
      return 1;
    }
    if (const Status ran = RunTestserver(*flags); !ran) {
      std::cerr << "flyball testserver: " << ran.error().message() << "\n";
      return 1;
    }
    return 0;
  });
}

}  // namespace flyball::cli
