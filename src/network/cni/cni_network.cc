#include "network/cni/cni_network.h"

#include <filesystem>
#include <utility>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "json/json.h"
#include "network/pods/pod_filters.h"

namespace flyball::network {
namespace {

namespace fs = std::filesystem;

constexpr char kRecordSuffix[] = ".json";

// What plugins that ask for it (CNI_ARGS) are told, as container runtimes do.
std::string ArgsOf(const Pod& pod) {
  return "IgnoreUnknown=1;K8S_POD_NAMESPACE=" + pod.metadata.namespace_ +
         ";K8S_POD_NAME=" + pod.metadata.name + ";K8S_POD_INFRA_CONTAINER_ID=" + pod.metadata.uid +
         ";K8S_POD_UID=" + pod.metadata.uid;
}

json::Value PortMappingsOf(const Pod& pod) {
  json::Array mappings;
  for (const HostPort& port : HostPortsOf(pod))
    mappings.push_back(json::Object{{"hostPort", port.port},
                                    {"containerPort", port.pod_port},
                                    {"protocol", port.protocol},
                                    {"hostIP", port.host_ip}});
  return mappings;
}

}  // namespace

CniNetwork::CniNetwork(CniNetworkOptions options)
    : options_(std::move(options)), plugins_(options_.plugin_folders), folder_(options_.data_dir + "/cni") {}

Result<std::unique_ptr<CniNetwork>> CniNetwork::Open(CniNetworkOptions options) {
  std::unique_ptr<CniNetwork> network(new CniNetwork(std::move(options)));
  std::error_code error;
  fs::create_directories(network->folder_, error);
  if (error) return Unexpected(InternalError(network->folder_ + ": " + error.message()));
  network->Recover();
  return network;
}

std::string CniNetwork::PathOf(const std::string& uid) const {
  return "/run/netns/" + options_.node.name + "_" + options_.node.node + "_" + uid;
}

std::string CniNetwork::WhyNotReady() const {
  if (ReadCniConfig(options_.config_folder)) return {};
  return "NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin "
         "not "
         "initialized";
}

// ---- what an earlier program has left ----

Status CniNetwork::Write(const std::string& uid, const Record& record) const {
  const json::Value value = json::Object{{"config", ToJson(record.config)},
                                         {"namespace", record.target.namespace_path},
                                         {"args", record.target.args},
                                         {"portMappings", record.target.port_mappings},
                                         {"result", record.result}};
  return WriteFileDurably(folder_ + "/" + uid + kRecordSuffix, json::Write(value) + "\n");
}

std::optional<CniNetwork::Record> CniNetwork::Read(const std::string& path) const {
  const auto text = ReadFile(path);
  const auto read = text ? json::Parse(*text) : Result<json::Value>(Unexpected(text.error()));
  if (!read || !read->is_object()) return std::nullopt;
  const json::Value& value = *read;
  auto config = ParseCniConfig(value["config"]);
  if (!config) return std::nullopt;
  CniTarget target{fs::path(path).stem().string(), std::string(value["namespace"].string_or("")),
                   std::string(value["args"].string_or("")), value["portMappings"]};
  return Record{std::move(*config), std::move(target), value["result"]};
}

void CniNetwork::Recover() {
  MutexLock lock(mu_);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() != kRecordSuffix) continue;
    if (auto record = Read(entry.path().string()))
      pods_[record->target.container_id] = std::move(*record);
    else
      log::Warning("record of a pod's network cannot be read", {{"file", entry.path().string()}});
  }
}

void CniNetwork::KeepOnly(const std::set<std::string>& pod_uids) {
  std::map<std::string, Record> gone;
  std::vector<std::string> kept;
  {
    MutexLock lock(mu_);
    for (auto it = pods_.begin(); it != pods_.end();) {
      const bool keeps = it->second.claimed || pod_uids.contains(it->first);
      if (keeps) kept.push_back(it->first);
      if (!keeps) gone.insert(*it);
      it = keeps ? std::next(it) : pods_.erase(it);
    }
  }
  for (const auto& [uid, record] : gone) Drop(uid, record);
  const auto config = ReadCniConfig(options_.config_folder);
  if (!config) return;
  if (const Status collected = plugins_.Collect(*config, kept); !collected)
    log::Warning("CNI plugins do not remove what is nobody's", {{"error", collected.error().message()}});
}

// ---- pods ----

// What is there already.
std::optional<CniNetwork::Record> CniNetwork::Claim(const std::string& uid) {
  MutexLock lock(mu_);
  const auto found = pods_.find(uid);
  if (found == pods_.end()) return std::nullopt;
  found->second.claimed = true;
  return found->second;
}

Result<PodAttachment> CniNetwork::Attach(const Pod& pod) {
  const std::string& uid = pod.metadata.uid;
  if (const auto before = Claim(uid)) {
    const bool whole = !before->result.is_null() && NetworkNamespace::Open(before->target.namespace_path);
    const Status good = whole ? plugins_.Check(before->config, before->target, before->result) : Status();
    if (!good)
      log::Warning("network of a pod is not as it was made",
                   {{"pod", uid}, {"error", good.error().message()}});
    if (whole) return PodAttachment{before->target.namespace_path, AddressesOf(before->result)};
    Detach(uid);
  }
  const auto failed = [&](const Error& error) {
    return Unexpected(error.Annotate("failed to setup network for sandbox \"" + uid + "\""));
  };
  const auto config = ReadCniConfig(options_.config_folder);
  if (!config) return failed(config.error());
  Record record{*config, {uid, PathOf(uid), ArgsOf(pod), PortMappingsOf(pod)}, {}, true};
  auto made = Make(uid, record);
  if (made) return made;
  Drop(uid, record);
  return failed(made.error());
}

Result<PodAttachment> CniNetwork::Make(const std::string& uid, Record& record) {
  FLYBALL_TRY(Write(uid, record));
  FLYBALL_TRY(NetworkNamespace::Remove(record.target.namespace_path));  // of a pod that nobody knows any more
  FLYBALL_TRY(NetworkNamespace::Create(record.target.namespace_path));
  FLYBALL_ASSIGN(record.result, plugins_.Add(record.config, record.target));
  PodAttachment made{record.target.namespace_path, AddressesOf(record.result)};
  if (made.ips.empty())
    return Unexpected(InternalError("failed to find network info for sandbox \"" + uid + "\""));
  FLYBALL_TRY(Write(uid, record));
  MutexLock lock(mu_);
  pods_[uid] = record;
  return made;
}

void CniNetwork::Drop(const std::string& uid, const Record& record) {
  const Status deleted = plugins_.Delete(record.config, record.target, record.result);
  if (!deleted)
    log::Warning("network of a pod not taken back by its plugins, will try again at the next start",
                 {{"pod", uid}, {"error", deleted.error().message()}});
  if (const Status removed = NetworkNamespace::Remove(record.target.namespace_path); !removed)
    log::Warning("network namespace of a pod not removed", {{"error", removed.error().message()}});
  std::error_code error;
  if (deleted) fs::remove(folder_ + "/" + uid + kRecordSuffix, error);
}

void CniNetwork::Detach(const std::string& pod_uid) {
  std::optional<Record> record;
  {
    MutexLock lock(mu_);
    const auto found = pods_.find(pod_uid);
    if (found == pods_.end()) return;
    record = std::move(found->second);
    pods_.erase(found);
  }
  Drop(pod_uid, *record);
}

}  // namespace flyball::network
