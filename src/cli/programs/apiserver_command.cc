#include "cli/programs/apiserver_command.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <map>
#include <sstream>

#include "api/kubernetes_version.h"
#include "api/schema/feature_gates.h"
#include "api/values/duration.h"
#include "base/values/ascii.h"
#include "cli/programs/audit_flags.h"
#include "cli/programs/identity_flags.h"
#include "cli/programs/server_process.h"
#include "cli/programs/signals.h"

namespace flyball::cli {
namespace {

struct ApiserverFlags {
  ServerProcessOptions process;
  IdentityFlags identity;
  std::string enable_admission, disable_admission, api_audiences;
  std::string event_ttl = "1h0m0s", request_timeout = "1m0s";
  std::string snapshot_interval = "0s";
  std::string feature_gates, emulated_version;
  std::function<Status()> read_audit_flags;
};

void DefineFlags(CLI::App& command, ApiserverFlags& flags) {
  auto& serving = flags.process.serving;
  auto& api = flags.process.api;
  command
      .add_option("--data-dir", serving.data_dir, "Where the store, the certificates and the kubeconfig live")
      ->required();
  command.add_option("--bind-address", serving.bind_address, "Address to listen on")->capture_default_str();
  command.add_option("--secure-port", serving.port, "Port to listen on; 0 takes any free one and prints it")
      ->capture_default_str();
  command.add_option(
      "--advertise-address", serving.advertise_address,
      "Address others reach the server at; the machine's own if it listens on all or on loopback");
  command.add_option("--external-hostname", serving.external_hostname,
                     "Host, or host:port, that clients are told to use");
  command.add_option(
      "--tls-cert-file", serving.tls_cert_file,
      "Serving certificate (PEM), followed as it changes; issued by the server's own CA if absent");
  command.add_option("--tls-private-key-file", serving.tls_private_key_file, "Key of --tls-cert-file");
  command.add_option("--client-ca-file", serving.client_ca_file,
                     "Also accept client certificates of this CA; followed as it changes");
  command.add_option("--service-account-signing-key-file", serving.service_account_signing_key_file,
                     "Key that signs service account tokens; made if absent");
  command
      .add_option("--service-account-key-file", serving.service_account_key_files,
                  "Keys whose tokens are accepted too, public or private; may be repeated")
      ->allow_extra_args(false);
  auto& nodes = flags.process.nodes;
  command.add_option("--kubelet-certificate-authority", nodes.ca_file,
                     "CA of nodes' serving certificates; without it they are not verified");
  command.add_option("--kubelet-client-certificate", nodes.certificate_file,
                     "Certificate the server presents to nodes; issued by its own CA if absent");
  command.add_option("--kubelet-client-key", nodes.key_file, "Key of --kubelet-client-certificate");
  command.add_option("--kubeconfig-out", serving.kubeconfig_out,
                     "Where to write the administrator's kubeconfig (mode 0600)");
  flags.identity.Define(command, api);
  command
      .add_option("--service-cluster-ip-range", api.service_cluster_ip_range,
                  "Where cluster IPs of Services come from")
      ->capture_default_str();
  command.add_option("--service-node-port-range", api.service_node_port_range, "Where node ports come from")
      ->capture_default_str();
  command
      .add_option("--service-account-issuer", api.service_account_issuers,
                  "Issuer of service account tokens; repeated: tokens of the others are accepted too")
      ->allow_extra_args(false)
      ->capture_default_str();
  command.add_option("--api-audiences", flags.api_audiences,
                     "Audiences of tokens for this server; the issuer if absent");
  command.add_option("--enable-admission-plugins", flags.enable_admission, "Comma-separated");
  command.add_option("--disable-admission-plugins", flags.disable_admission, "Comma-separated");
  command.add_option("--event-ttl", flags.event_ttl, "How long Events are kept")->capture_default_str();
  command
      .add_option("--request-timeout", flags.request_timeout,
                  "How long a request may take, except watches, logs, exec and the like")
      ->capture_default_str();
  command.add_option("--feature-gates", flags.feature_gates,
                     "Comma-separated NAME=true|false, with Kubernetes' names (docs/feature-gates.md)");
  command.add_option("--emulated-version", flags.emulated_version,
                     "Kubernetes version whose feature gates and kinds are in force, such as 1.36");
  command.add_option("--runtime-config", api.runtime_config,
                     "Comma-separated GROUP/VERSION[/RESOURCE]=true|false, api/all, api/ga");
  flags.read_audit_flags = AddAuditFlags(command, api.audit);
  auto& store = flags.process.store;
  command.add_option("--encryption-provider-config", store.encryption_provider_config,
                     "EncryptionConfiguration that says which resources are encrypted at rest, with which "
                     "keys; pki/encryption-config.yaml of the data folder if absent");
  command
      .add_option("--encryption-provider-config-automatic-reload", store.encryption_automatic_reload,
                  "Look once a minute whether that file has changed, and take the change up")
      ->capture_default_str();
  command
      .add_option("--snapshot-interval", flags.snapshot_interval,
                  "Save a snapshot of the store this often (12h); 0: never")
      ->capture_default_str();
  command.add_option("--snapshot-count", store.snapshots.count, "How many of them to keep")
      ->capture_default_str();
  command.add_option("--snapshot-dir", store.snapshots.folder,
                     "Where to; snapshots/ of the data folder if absent");
  command.add_option("--snapshot-passphrase-file", store.snapshots.passphrase_file,
                     "Seal the keys in them with the passphrase in this file");
  command
      .add_option("--quota-backend-bytes", flags.process.store.quota_backend_bytes,
                  "Size at which the store refuses writes until it is compacted or emptied; 0: 2 GiB, "
                  "negative: no limit")
      ->capture_default_str();
  command
      .add_option("--max-requests-inflight", api.max_requests_inflight, "Reads running at once; 0: no limit")
      ->capture_default_str();
  command
      .add_option("--max-mutating-requests-inflight", api.max_mutating_requests_inflight,
                  "Writes running at once; 0: no limit")
      ->capture_default_str();
}

// "1.36" or "kube=1.36", as upstream takes it: the minor version.
Result<int> ReadEmulatedVersion(std::string_view text) {
  if (text.starts_with("kube=")) text.remove_prefix(5);
  constexpr std::string_view kMajor = "1.";
  int minor = -1;
  if (text.starts_with(kMajor)) {
    const std::string_view digits = text.substr(kMajor.size());
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), minor);
    if (ec != std::errc() || end != digits.data() + digits.size()) minor = -1;
  }
  if (minor < api::kOldestEmulatedMinor || minor > api::kKubernetesMinor)
    return Unexpected(BadRequest("--emulated-version: \"" + std::string(text) + "\" is none of 1." +
                                 std::to_string(api::kOldestEmulatedMinor) + " to 1." +
                                 std::to_string(api::kKubernetesMinor)));
  return minor;
}

// The feature gates of the process: the defaults of the emulated version, then what the flag says.
Status ReadGates(const ApiserverFlags& flags) {
  int minor = api::kKubernetesMinor;
  if (!flags.emulated_version.empty()) {
    FLYBALL_ASSIGN(minor, ReadEmulatedVersion(flags.emulated_version));
  }
  api::FeatureGates gates(minor);
  if (const Status set = gates.Set(flags.feature_gates); !set)
    return Unexpected(set.error().Annotate("--feature-gates"));
  api::SetProcessGates(std::move(gates));
  return {};
}

// What /flagz shows: each flag and its value.
std::map<std::string, std::string> FlagValues(const CLI::App& command) {
  std::map<std::string, std::string> values;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() || option->get_lnames().front() == "help") continue;
    std::string text;
    for (const std::string& value : option->results()) text += (text.empty() ? "" : ",") + value;
    values[option->get_lnames().front()] = option->count() > 0 ? text : option->get_default_str();
  }
  return values;
}

Status ReadFlags(ApiserverFlags& flags) {
  FLYBALL_TRY(ReadGates(flags));
  auto& api = flags.process.api;
  FLYBALL_TRY(flags.identity.Read(api));
  api.api_audiences = SplitWords(flags.api_audiences, ",");
  const auto event_ttl = api::ParseDuration(flags.event_ttl);
  if (!event_ttl) return Unexpected(BadRequest("--event-ttl: " + event_ttl.error().message()));
  api.event_ttl = *event_ttl;
  FLYBALL_TRY(flags.read_audit_flags());
  const auto snapshot_interval = api::ParseDuration(flags.snapshot_interval);
  if (!snapshot_interval)
    return Unexpected(BadRequest("--snapshot-interval: " + snapshot_interval.error().message()));
  flags.process.store.snapshots.interval = *snapshot_interval;
  const auto request_timeout = api::ParseDuration(flags.request_timeout);
  if (!request_timeout || *request_timeout <= Duration::zero())
    return Unexpected(
        BadRequest("--request-timeout: " +
                   (request_timeout ? "must be more than zero" : request_timeout.error().message())));
  api.request_timeout = *request_timeout;
  for (auto& name : SplitWords(flags.enable_admission, ",")) api.enable_admission.insert(name);
  for (auto& name : SplitWords(flags.disable_admission, ",")) api.disable_admission.insert(name);
  return {};
}

int Refuse(const Error& error) {
  std::cerr << "flyball apiserver: " << error.message() << "\n";
  return 1;
}

int RunApiserver(ApiserverFlags& flags) {
  BlockStopSignals();
  if (const Status read = ReadFlags(flags); !read) return Refuse(read.error());
  auto process = ServerProcess::Start(std::move(flags.process));
  if (!process) return Refuse(process.error());
  std::cout << "serving " << (*process)->url() << "\nkubeconfig " << (*process)->kubeconfig_path()
            << std::endl;
  WaitForStopSignal();
  return 0;
}

}  // namespace

void AddApiServerCommand(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("apiserver", "Run the API server alone, with kube-apiserver's flag names");
  auto flags = std::make_shared<ApiserverFlags>();
  DefineFlags(*command, *flags);
  command->footer(
      "Example:\n  flyball apiserver --data-dir D --secure-port 6443 --token-auth-file tokens.csv");
  command->callback([flags, command, &exit_code] {
    flags->process.api.flags = FlagValues(*command);
    exit_code = RunApiserver(*flags);
  });
}

}  // namespace flyball::cli
