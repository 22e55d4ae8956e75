#include "cli/envtest/kube_apiserver_program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "api/kubernetes_version.h"
#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "cli/envtest/envtest_settings.h"
#include "cli/envtest/store_location.h"
#include "cli/foreign_flags/kube_apiserver_flags.h"
#include "cli/programs/apiserver_flags.h"
#include "cli/programs/cluster.h"

namespace flyball::cli {
namespace {

// Flags that `flyball apiserver` does not have.
struct OwnFlags {
  std::string etcd_servers, etcd_prefix = "/registry", cert_dir = "/var/run/kubernetes", version = "false";

  std::string* Find(std::string_view name) {
    if (name == "etcd-servers") return &etcd_servers;
    if (name == "etcd-prefix") return &etcd_prefix;
    if (name == "cert-dir") return &cert_dir;
    if (name == "version") return &version;
    return nullptr;
  }
};

// What is so here, whatever is asked for: asking for it is nothing to tell of.
bool IsAlwaysSo(const GivenFlag& given) {
  return given.flag->name == "allow-privileged" && given.value == "true";
}

bool IsGiven(const ParsedFlags& parsed, std::string_view name) {
  return std::any_of(parsed.given.begin(), parsed.given.end(),
                     [&](const GivenFlag& given) { return given.flag->name == name; });
}

// Whether values that are given one after the other add up, separated by commas.
bool AddsUp(const ForeignFlag& flag) {
  return flag.type == "strings" || flag.type == "mapStringString" ||
         flag.type.find("Multimap") != std::string_view::npos;
}

// The arguments for a command that takes a flag once: a later value replaces an earlier one, or is added to
// it.
class EffectiveFlags {
 public:
  void Add(const ForeignFlag& flag, const std::string& value) {
    if (flag.type == "stringArray") {
      repeated_.push_back(Argument(flag.name, value));
      return;
    }
    std::string& current = once_[flag.name];
    current = AddsUp(flag) && !current.empty() ? current + "," + value : value;
  }
  void AddDefault(std::string_view name, const std::string& value) { once_.try_emplace(name, value); }
  // As CLI11 takes them: the last one first.
  std::vector<std::string> Arguments() const {
    std::vector<std::string> all(repeated_.rbegin(), repeated_.rend());
    for (const auto& [name, value] : once_) all.push_back(Argument(name, value));
    return all;
  }

 private:
  static std::string Argument(std::string_view name, const std::string& value) {
    return "--" + std::string(name) + "=" + value;
  }
  std::map<std::string_view, std::string> once_;
  std::vector<std::string> repeated_;
};

// Sorts what was given into flags with an effect, which go to `command` and `own`, and others, which are
// named in the log.
std::vector<std::string> SortFlags(const ParsedFlags& parsed, const CLI::App& command, OwnFlags& own) {
  EffectiveFlags effective;
  std::set<std::string_view> named;
  for (const GivenFlag& given : parsed.given) {
    const std::string name = "--" + std::string(given.flag->name);
    if (std::string* value = own.Find(given.flag->name))
      *value = given.value;
    else if (command.get_option_no_throw(name))
      effective.Add(*given.flag, given.value);
    else if (!IsAlwaysSo(given) && named.insert(given.flag->name).second)
      log::Warning("flag has no effect here", {{"flag", name}});
  }
  // kube-apiserver's defaults where they differ.
  effective.AddDefault("bind-address", "0.0.0.0");
  if (!IsGiven(parsed, "authorization-config")) effective.AddDefault("authorization-mode", "AlwaysAllow");
  return effective.Arguments();
}

// kube-apiserver's, in its order.
Status CheckRequiredFlags(const ParsedFlags& parsed, const OwnFlags& own) {
  std::vector<std::string> missing;
  if (own.etcd_servers.empty()) missing.push_back("--etcd-servers must be specified");
  if (!IsGiven(parsed, "service-account-issuer"))
    missing.push_back("service-account-issuer is a required flag");
  if (!IsGiven(parsed, "service-account-key-file") && !IsGiven(parsed, "service-account-signing-endpoint"))
    missing.push_back(
        "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set");
  if (!IsGiven(parsed, "service-account-signing-key-file") || !IsGiven(parsed, "service-account-issuer"))
    missing.push_back("--service-account-signing-key-file and --service-account-issuer are required flags");
  if (missing.empty()) return {};
  std::string text;
  for (const std::string& line : missing) text += (text.empty() ? "" : ", ") + line;
  return Unexpected(BadRequest(missing.size() == 1 ? text : "[" + text + "]"));
}

// The serving certificate of --cert-dir. If there is none there, ours is written there when it is known.
struct CertificateFolder {
  std::string certificate, key;

  explicit CertificateFolder(const std::string& folder)
      : certificate(folder + "/apiserver.crt"), key(folder + "/apiserver.key") {}
  bool HasPair() const { return std::filesystem::exists(certificate) && std::filesystem::exists(key); }
  Status Write(const server::Pki& pki) const {
    FLYBALL_TRY(MakePrivateFolder(std::filesystem::path(key).parent_path().string()));
    FLYBALL_TRY(WriteFileDurably(key, pki.serving.private_key_pem));
    constexpr mode_t kPublic = 0644;
    return WriteFileDurably(certificate, pki.serving.certificate_pem + pki.ca.certificate_pem, kPublic);
  }
};

// Controllers, scheduler and one simulated node beside the server, if the settings ask for them.
Result<std::unique_ptr<LocalCluster>> StartComponents(const EnvtestSettings& settings, ServerProcess& server,
                                                      const std::string& data_dir) {
  if (!settings.controllers) return std::unique_ptr<LocalCluster>();
  LocalClusterOptions options;
  options.nodes = {.runtime = "sim", .data_dir = data_dir, .names = NodeNames(1)};
  return LocalCluster::Start(server, std::move(options));
}

Status ServeAsKubeApiserver(ApiserverFlags& flags, const OwnFlags& own) {
  BlockStopSignals();
  FLYBALL_ASSIGN(const EnvtestSettings settings, ReadEnvtestSettings());
  FLYBALL_ASSIGN(const EnvtestLifetime lifetime, EnvtestLifetime::Begin(settings));
  FLYBALL_TRY(flags.Read());
  FLYBALL_ASSIGN(const StoreLocation location, AskStoreLocation(own.etcd_servers));
  const std::string data_dir = DataFolderOf(location, own.etcd_prefix);
  flags.process.serving.data_dir = data_dir;
  flags.process.store.sync = location.sync;
  const CertificateFolder certificates(own.cert_dir);
  const bool own_certificate = !flags.process.serving.tls_cert_file.empty();
  if (!own_certificate && certificates.HasPair()) {
    flags.process.serving.tls_cert_file = certificates.certificate;
    flags.process.serving.tls_private_key_file = certificates.key;
  }
  const bool write_certificate = flags.process.serving.tls_cert_file.empty();
  if (settings.controllers) PrepareForLocalCluster(flags.process);
  FLYBALL_ASSIGN(auto server, ServerProcess::Start(std::move(flags.process)));
  if (write_certificate) FLYBALL_TRY(certificates.Write(server->pki()));
  FLYBALL_ASSIGN(auto components, StartComponents(settings, *server, data_dir));
  log::Info("serving", {{"url", server->url()}, {"store", data_dir}});
  const bool orphaned = lifetime.Wait();
  components.reset();
  server.reset();
  if (!orphaned) return {};
  RemoveEnvtestFolder(own.cert_dir);
  RemoveEnvtestFolder(location.data_dir);
  return {};
}

std::string UsageText(const ForeignFlag& flag, const CLI::App& command) {
  OwnFlags own;
  const CLI::Option* option = command.get_option_no_throw("--" + std::string(flag.name));
  std::string text = option                ? option->get_description()
                     : own.Find(flag.name) ? "As in kube-apiserver"
                                           : "Accepted, without effect here";
  if (!flag.value.empty()) text += " (default " + std::string(flag.value) + ")";
  return text;
}

void PrintKubeHelp(const CLI::App& command) {
  std::cout << "The Kubernetes API, served by Flyball, with kube-apiserver's flags.\n\n"
               "Usage:\n  kube-apiserver [flags]\n";
  std::string_view section;
  for (const ForeignFlag& flag : KubeApiserverFlags()) {
    if (flag.section.empty()) continue;
    if (flag.section != section) std::cout << "\n" << (section = flag.section) << " flags:\n\n";
    std::cout << FlagUsage(flag) << "\n                " << UsageText(flag, command) << "\n";
  }
}

int FailAsCobra(const Error& error) {
  std::cerr << "Error: " << error.message() << "\n";
  return 1;
}

}  // namespace

int RunKubeApiserver(const std::vector<std::string>& arguments) {
  CLI::App command{"", "kube-apiserver"};
  ApiserverFlags flags;
  flags.Define(command);
  const auto parsed = ParseFlags(KubeApiserverFlags(), arguments, FlagStyle::kPosix);
  if (!parsed) return FailAsCobra(parsed.error());
  if (parsed->help) {
    PrintKubeHelp(command);
    return 0;
  }
  if (!parsed->arguments.empty()) {
    std::string got;
    for (const std::string& argument : parsed->arguments)
      got += (got.empty() ? "\"" : " \"") + argument + "\"";
    return FailAsCobra(BadRequest("\"kube-apiserver\" does not take any arguments, got [" + got + "]"));
  }
  OwnFlags own;
  try {
    command.parse(SortFlags(*parsed, command, own));
  } catch (const CLI::ParseError& error) {
    return FailAsCobra(BadRequest(error.what()));
  }
  if (own.version != "false") {
    std::cout << "Kubernetes " << api::kKubernetesVersion << "\n";
    return 0;
  }
  if (const Status complete = CheckRequiredFlags(*parsed, own); !complete)
    return FailAsCobra(complete.error());
  flags.process.api.flags = FlagValues(command);
  if (const Status served = ServeAsKubeApiserver(flags, own); !served) return FailAsCobra(served.error());
  return 0;
}

}  // namespace flyball::cli
