#include "cli/programs/apiserver_flags.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "api/kubernetes_version.h"
#include "api/schema/feature_gates.h"
#include "api/values/duration.h"
#include "base/values/ascii.h"
#include "cli/data/etcd_overrides.h"
#include "cli/programs/audit_flags.h"

namespace flyball::cli {
namespace {

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

// "kube:Gate=true" is the same as "Gate=true": there is no other component here.
std::string WithoutComponent(const std::string& feature_gates) {
  constexpr std::string_view kComponent = "kube:";
  std::string out;
  for (const std::string& part : SplitText(feature_gates, ',')) {
    std::string_view gate = part;
    if (gate.starts_with(kComponent)) gate.remove_prefix(kComponent.size());
    out += (out.empty() ? "" : ",") + std::string(gate);
  }
  return out;
}

// The feature gates of the process: the defaults of the emulated version, then what the flag says.
Status ReadGates(const std::string& emulated_version, const std::string& feature_gates) {
  int minor = api::kKubernetesMinor;
  if (!emulated_version.empty()) {
    FLYBALL_ASSIGN(minor, ReadEmulatedVersion(emulated_version));
  }
  api::FeatureGates gates(minor);
  if (const Status set = gates.Set(WithoutComponent(feature_gates)); !set)
    return Unexpected(set.error().Annotate("--feature-gates"));
  api::SetProcessGates(std::move(gates));
  return {};
}

}  // namespace

void ApiserverFlags::Define(CLI::App& command) {
  DefineServing(command);
  DefineApi(command);
  DefineStore(command);
  DefineEtcd(command);
}

void ApiserverFlags::DefineServing(CLI::App& command) {
  auto& serving = process.serving;
  command.add_option("--data-dir", serving.data_dir,
                     "Where the store, the certificates and the kubeconfig live");
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
  command.add_option(
      "--proxy-client-cert-file", serving.proxy_client_cert_file,
      "Certificate the server presents to API servers behind it, followed as it changes; issued by its own "
      "front-proxy CA if absent");
  command.add_option("--proxy-client-key-file", serving.proxy_client_key_file,
                     "Key of --proxy-client-cert-file");
  command.add_option("--service-account-signing-key-file", serving.service_account_signing_key_file,
                     "Key that signs service account tokens; made if absent");
  command
      .add_option("--service-account-key-file", serving.service_account_key_files,
                  "Keys whose tokens are accepted too, public or private; may be repeated")
      ->allow_extra_args(false);
  auto& nodes = process.nodes;
  command.add_option("--kubelet-certificate-authority", nodes.ca_file,
                     "CA of nodes' serving certificates; without it they are not verified");
  command.add_option("--kubelet-client-certificate", nodes.certificate_file,
                     "Certificate the server presents to nodes; issued by its own CA if absent");
  command.add_option("--kubelet-client-key", nodes.key_file, "Key of --kubelet-client-certificate");
  command.add_option("--kubeconfig-out", serving.kubeconfig_out,
                     "Where to write the administrator's kubeconfig (mode 0600)");
}

void ApiserverFlags::DefineApi(CLI::App& command) {
  auto& api = process.api;
  identity.Define(command, api);
  command
      .add_option("--service-cluster-ip-range", api.service_cluster_ip_range,
                  "Where cluster IPs of Services come from: a range, or one of each IP family")
      ->capture_default_str();
  command.add_option("--service-node-port-range", api.service_node_port_range, "Where node ports come from")
      ->capture_default_str();
  command
      .add_option("--service-account-issuer", api.service_account_issuers,
                  "Issuer of service account tokens; repeated: tokens of the others are accepted too")
      ->allow_extra_args(false)
      ->capture_default_str();
  command.add_option("--api-audiences", api_audiences,
                     "Audiences of tokens for this server; the issuer if absent");
  command.add_option("--enable-admission-plugins", enable_admission, "Comma-separated");
  command.add_option("--disable-admission-plugins", disable_admission, "Comma-separated");
  command.add_option("--admission-control-config-file", api.admission.config_file,
                     "AdmissionConfiguration with the configuration of admission plugins");
  auto& stay = api.admission.toleration_seconds;
  command
      .add_option("--default-not-ready-toleration-seconds", stay.not_ready,
                  "How long pods that do not say it stay on a node that is not ready")
      ->capture_default_str();
  command
      .add_option("--default-unreachable-toleration-seconds", stay.unreachable,
                  "How long pods that do not say it stay on a node that is unreachable")
      ->capture_default_str();
  command.add_option("--event-ttl", event_ttl, "How long Events are kept")->capture_default_str();
  command
      .add_option("--request-timeout", request_timeout,
                  "How long a request may take, except watches, logs, exec and the like")
      ->capture_default_str();
  command
      .add_option("--shutdown-delay-duration", shutdown_delay,
                  "How long everything is still served when the server is to end. /readyz says so meanwhile, "
                  "and the server is no endpoint of the cluster any more, so load balancers turn elsewhere")
      ->capture_default_str();
  command.add_flag("--shutdown-send-retry-after", process.shutdown_send_retry_after,
                   "After that, go on listening until the requests under way have ended, and answer new ones "
                   "with 429 and Retry-After");
  command
      .add_option("--goaway-chance", process.serving.goaway_chance,
                  "How likely a request makes its HTTP/2 connection close once it is idle, so that clients "
                  "spread over the servers behind a load balancer; 0 to 0.02")
      ->capture_default_str();
  command.add_option("--feature-gates", feature_gates,
                     "Comma-separated NAME=true|false, with Kubernetes' names (docs/feature-gates.md)");
  command.add_option("--emulated-version", emulated_version,
                     "Kubernetes version whose feature gates and kinds are in force, such as 1.36");
  command.add_option("--runtime-config", api.runtime_config,
                     "Comma-separated GROUP/VERSION[/RESOURCE]=true|false, api/all, api/ga");
  read_audit_flags = AddAuditFlags(command, api.audit);
  command
      .add_option("--max-requests-inflight", api.max_requests_inflight, "Reads running at once; 0: no limit")
      ->capture_default_str();
  command
      .add_option("--max-mutating-requests-inflight", api.max_mutating_requests_inflight,
                  "Writes running at once; 0: no limit")
      ->capture_default_str();
}

void ApiserverFlags::DefineStore(CLI::App& command) {
  auto& store = process.store;
  command.add_option("--encryption-provider-config", store.encryption_provider_config,
                     "EncryptionConfiguration that says which resources are encrypted at rest, with which "
                     "keys; pki/encryption-config.yaml of the data folder if absent");
  command
      .add_option("--encryption-provider-config-automatic-reload", store.encryption_automatic_reload,
                  "Look once a minute whether that file has changed, and take the change up")
      ->capture_default_str();
  command
      .add_option("--snapshot-interval", snapshot_interval,
                  "Save a snapshot of the store this often (12h); 0: never")
      ->capture_default_str();
  command.add_option("--snapshot-count", store.snapshots.count, "How many of them to keep")
      ->capture_default_str();
  command.add_option("--snapshot-dir", store.snapshots.folder,
                     "Where to; snapshots/ of the data folder if absent");
  command.add_option("--snapshot-passphrase-file", store.snapshots.passphrase_file,
                     "Seal the keys in them with the passphrase in this file");
  command
      .add_option("--quota-backend-bytes", store.quota_backend_bytes,
                  "Size at which the store refuses writes until it is compacted or emptied; 0: 2 GiB, "
                  "negative: no limit")
      ->capture_default_str();
}

void ApiserverFlags::DefineEtcd(CLI::App& command) {
  auto& store = process.store;
  command.add_option(
      "--etcd-servers", etcd_servers,
      "Comma-separated URLs of an etcd cluster that holds the data, instead of the data folder's "
      "database (docs/high-availability.md)");
  command.add_option("--etcd-cafile", store.etcd_ca_file, "CA of etcd's certificates");
  command.add_option("--etcd-certfile", store.etcd_cert_file, "Certificate the server presents to etcd");
  command.add_option("--etcd-keyfile", store.etcd_key_file, "Key of --etcd-certfile");
  command.add_option("--etcd-prefix", store.etcd.prefix, "What all keys in etcd begin with")
      ->capture_default_str();
  command
      .add_option("--etcd-compaction-interval", etcd_compaction_interval,
                  "How long etcd's history is kept; 0: this server does not compact it")
      ->capture_default_str();
  command
      .add_option("--etcd-healthcheck-timeout", etcd_healthcheck_timeout,
                  "How long /readyz and /livez wait for etcd")
      ->capture_default_str();
  command
      .add_option("--etcd-db-metric-poll-interval", etcd_db_metric_poll_interval,
                  "How often etcd is asked for its size; 0: never")
      ->capture_default_str();
  command
      .add_option("--lease-reuse-duration-seconds", lease_reuse_seconds,
                  "How long a lease of etcd is given to new Events")
      ->capture_default_str();
  command
      .add_option("--storage-media-type", store.storage_media_type,
                  "How built-in kinds are written to etcd: application/vnd.kubernetes.protobuf or "
                  "application/json. Both are read")
      ->capture_default_str();
  command.add_flag("--metrics-api", process.metrics_api,
                   "Serve metrics.k8s.io: what nodes and pods use, asked of the nodes when somebody asks");
  command.add_option("--etcd-servers-overrides", etcd_servers_overrides,
                     "Comma-separated GROUP/RESOURCE#URL;URL: resources with an etcd of their own "
                     "(/events#http://10.0.0.9:2379)");
}

Status ApiserverFlags::ReadShutdown() {
  const auto delay = api::ParseDuration(shutdown_delay);
  if (!delay) return Unexpected(BadRequest("--shutdown-delay-duration: " + delay.error().message()));
  process.shutdown_delay = *delay;
  constexpr double kLargestGoawayChance = 0.02;
  const double chance = process.serving.goaway_chance;
  if (!(chance >= 0 && chance <= kLargestGoawayChance))
    return Unexpected(BadRequest("--goaway-chance can not be less than 0 or greater than 0.02"));
  return {};
}

Status ApiserverFlags::ReadEtcd() {
  auto& etcd = process.store.etcd;
  etcd.endpoints = SplitWords(etcd_servers, ",");
  FLYBALL_ASSIGN(process.store.etcd_overrides, ParseEtcdOverrides(etcd_servers_overrides));
  if (etcd.endpoints.empty() && !process.store.etcd_overrides.empty())
    return Unexpected(
        BadRequest("--etcd-servers-overrides needs an etcd in --etcd-servers, for everything else"));
  const auto read = [](const char* flag, const std::string& text, Duration& into) -> Status {
    const auto parsed = api::ParseDuration(text);
    if (!parsed) return Unexpected(BadRequest(std::string(flag) + ": " + parsed.error().message()));
    into = *parsed;
    return {};
  };
  FLYBALL_TRY(read("--etcd-compaction-interval", etcd_compaction_interval, etcd.compaction_interval));
  FLYBALL_TRY(read("--etcd-healthcheck-timeout", etcd_healthcheck_timeout, etcd.health_timeout));
  FLYBALL_TRY(read("--etcd-db-metric-poll-interval", etcd_db_metric_poll_interval, etcd.stats_interval));
  if (lease_reuse_seconds <= 0)
    return Unexpected(BadRequest("--lease-reuse-duration-seconds must be greater than 0"));
  etcd.lease_reuse = std::chrono::seconds(lease_reuse_seconds);
  return {};
}

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

Status ApiserverFlags::Read() {
  FLYBALL_TRY(ReadGates(emulated_version, feature_gates));
  auto& api = process.api;
  FLYBALL_TRY(identity.Read(api));
  api.api_audiences = SplitWords(api_audiences, ",");
  const auto event_ttl_read = api::ParseDuration(event_ttl);
  if (!event_ttl_read) return Unexpected(BadRequest("--event-ttl: " + event_ttl_read.error().message()));
  api.event_ttl = *event_ttl_read;
  FLYBALL_TRY(read_audit_flags());
  FLYBALL_TRY(ReadEtcd());
  const auto snapshot_interval_read = api::ParseDuration(snapshot_interval);
  if (!snapshot_interval_read)
    return Unexpected(BadRequest("--snapshot-interval: " + snapshot_interval_read.error().message()));
  process.store.snapshots.interval = *snapshot_interval_read;
  const auto request_timeout_read = api::ParseDuration(request_timeout);
  if (!request_timeout_read || *request_timeout_read <= Duration::zero())
    return Unexpected(
        BadRequest("--request-timeout: " + (request_timeout_read ? "must be more than zero"
                                                                 : request_timeout_read.error().message())));
  api.request_timeout = *request_timeout_read;
  FLYBALL_TRY(ReadShutdown());
  for (auto& name : SplitWords(enable_admission, ",")) api.admission.enable.insert(name);
  for (auto& name : SplitWords(disable_admission, ",")) api.admission.disable.insert(name);
  return {};
}

}  // namespace flyball::cli
