#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

constexpr const char* kVersion = "v0.1.0";

struct VersionFlags {
  std::string output;
  bool client = false;
};

Status RunVersion(Session& session, const VersionFlags& flags) {
  if (!flags.output.empty() && flags.output != "json" && flags.output != "yaml")
    return Unexpected(LocalError("--output must be 'yaml' or 'json'"));
  json::Value versions;
  versions["clientVersion"]["gitVersion"] = kVersion;
  if (!flags.client) {
    RestRequest request;
    request.path = "/version";
    FLYBALL_ASSIGN(versions["serverVersion"], session.Call(std::move(request)));
  }
  if (flags.output == "json") {
    session.out() << json::WritePretty(versions, 2) << "\n";
  } else if (flags.output == "yaml") {
    session.out() << json::WriteYaml(versions);
  } else {
    session.out() << "Client Version: " << kVersion << "\n";
    if (!flags.client)
      session.out() << "Server Version: "
                    << std::as_const(versions)["serverVersion"]["gitVersion"].string_or("") << "\n";
  }
  return {};
}

// For machines without a kubeconfig.
bool PrintClientVersion() {
  std::cout << "Client Version: " << kVersion << "\n";
  return true;
}

}  // namespace

void AddVersionCommand(const Command& root) {
  auto flags = std::make_shared<VersionFlags>();
  const Command command =
      root.Sub("version", "Say the versions of program and server", "flyball version --client");
  command.Option("-o,--output", &flags->output, "json or yaml");
  command.Flag("--client", &flags->client, "Only that of the program");
  RunVerb(command, [flags](Session& session) { return RunVersion(session, *flags); });
  command.Before([flags] { return flags->client && flags->output.empty() && PrintClientVersion(); });
}

}  // namespace flyball::cli
