#include <memory>

#include "api/kubernetes_version.h"
#include "base/observe/build_info.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "cli/kustomize/build.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct VersionFlags {
  std::string output;
  bool client = false;
};

// As kubectl says it of itself: of which Kubernetes this is the client.
json::Value ClientVersion() {
  return json::Object{{"major", std::to_string(api::kKubernetesMajor)},
                      {"minor", std::to_string(api::kKubernetesMinor)},
                      {"gitVersion", api::kKubernetesVersion},
                      {"gitCommit", Build().commit},
                      {"gitTreeState", Build().tree_state},
                      {"buildDate", Build().date},
                      {"goVersion", "none"},
                      {"compiler", "g++"},
                      {"platform", "linux/amd64"}};
}

json::Value OwnVersion() {
  return json::Object{{"version", Build().version},      {"commit", Build().commit},
                      {"treeState", Build().tree_state}, {"commitDate", Build().date},
                      {"buildType", Build().type},       {"compiler", Build().compiler}};
}

std::string CommitText() {
  if (Build().commit.empty()) return "unknown";
  return Build().commit + (Build().date.empty() ? "" : ", " + Build().date) +
         (Build().tree_state == "dirty" ? ", with changes" : "");
}

void PrintOwnVersion() {
  std::cout << "Flyball Version: " << Build().version << "\n"
            << "Commit: " << CommitText() << "\n"
            << "Build: " << Build().type << ", compiler " << Build().compiler << "\n";
}

void PrintClientText(bool own) {
  if (own) PrintOwnVersion();
  std::cout << "Client Version: " << api::kKubernetesVersion << "\n"
            << "Kustomize Version: " << kustomize::kKustomizeVersion << "\n";
}

std::optional<int> MinorOf(const json::Value& version) {
  const std::string text(version["minor"].string_or(""));
  if (text.empty() || text.find_first_not_of("0123456789+") != std::string::npos) return std::nullopt;
  return std::atoi(text.c_str());
}

// Client and server may be one minor version apart.
void WarnOfSkew(const json::Value& server) {
  const auto minor = MinorOf(server);
  if (!minor || std::abs(*minor - api::kKubernetesMinor) <= 1) return;
  std::cerr << "Warning: version difference between client (" << api::kKubernetesMajor << "."
            << api::kKubernetesMinor << ") and server (" << server["major"].string_or("") << "." << *minor
            << ") exceeds the supported minor version skew of +/-1\n";
}

Status PrintVersions(const json::Value& versions, const VersionFlags& flags, bool own) {
  const json::Value& server = versions["serverVersion"];
  if (flags.output == "json") {
    std::cout << json::WritePretty(versions, 2) << "\n";
  } else if (flags.output == "yaml") {
    std::cout << json::WriteYaml(versions);
  } else {
    PrintClientText(own);
    if (!server.is_null()) std::cout << "Server Version: " << server["gitVersion"].string_or("") << "\n";
  }
  if (!server.is_null()) WarnOfSkew(server);
  return {};
}

Result<json::Value> ServerVersion(const Invocation& invocation) {
  FLYBALL_ASSIGN(auto session, Session::Open(invocation));
  return session->Call(RawRequest("/version"));
}

// What is known of the client is said even if no server answers.
Status RunVersion(const Invocation& invocation, const VersionFlags& flags) {
  if (!flags.output.empty() && flags.output != "json" && flags.output != "yaml")
    return Unexpected(LocalError("--output must be 'yaml' or 'json'"));
  const bool own = invocation.program == "flyball";
  json::Value versions = json::Object{};
  if (own) versions["flyball"] = OwnVersion();
  versions["clientVersion"] = ClientVersion();
  versions["kustomizeVersion"] = kustomize::kKustomizeVersion;
  if (flags.client) return PrintVersions(versions, flags, own);
  auto server = ServerVersion(invocation);
  if (server) versions["serverVersion"] = std::move(*server);
  FLYBALL_TRY(PrintVersions(std::as_const(versions), flags, own));
  return server ? Status() : Unexpected(server.error());
}

}  // namespace

void AddVersionCommand(const Command& root) {
  auto flags = std::make_shared<VersionFlags>();
  const Command command =
      root.Sub("version", "Say the versions of program and server", "flyball version --client");
  command.Option("-o,--output", &flags->output, "json or yaml");
  command.Flag("--client", &flags->client, "Only that of the program");
  command.RunLocal([flags, invocation = &command.invocation()] {
    const Status done = RunVersion(*invocation, *flags);
    if (!done) std::cerr << ErrorText(done.error()) << "\n";
    return done ? 0 : 1;
  });
}

}  // namespace flyball::cli
