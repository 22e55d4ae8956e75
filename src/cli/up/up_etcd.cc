#include "cli/up/up_etcd.h"

#include <CLI/CLI.hpp>

#include "api/values/ip_address.h"
#include "base/run/executor.h"
#include "base/values/ascii.h"
#include "cli/data/data_folder.h"
#include "cli/data/shared_keys.h"

namespace flyball::cli {

void AddUpEtcdFlags(CLI::App& command, UpEtcdFlags& flags) {
  command.add_option(
      "--etcd-servers", flags.servers,
      "Comma-separated URLs of an etcd cluster that holds the data, so that others can run the "
      "same cluster on other machines (docs/high-availability.md)");
  command.add_option("--etcd-cafile", flags.ca_file, "CA of etcd's certificates");
  command.add_option("--etcd-certfile", flags.cert_file, "Certificate the server presents to etcd");
  command.add_option("--etcd-keyfile", flags.key_file, "Key of --etcd-certfile");
  command.add_option("--etcd-prefix", flags.prefix, "What all keys in etcd begin with")
      ->capture_default_str();
  command.add_option("--join", flags.join,
                     "Be another server of the cluster in that etcd: the join key that its first server has "
                     "printed. Needed once");
}

Status PrepareUpOnEtcd(const UpEtcdFlags& flags, ServerProcessOptions& options) {
  if (!flags.given()) {
    if (flags.join.empty()) return {};
    return Unexpected(BadRequest("--join needs --etcd-servers, the etcd that the cluster's servers share"));
  }
  auto& store = options.store;
  store.etcd.endpoints = SplitWords(flags.servers, ",");
  store.etcd.prefix = flags.prefix;
  store.etcd_ca_file = flags.ca_file;
  store.etcd_cert_file = flags.cert_file;
  store.etcd_key_file = flags.key_file;
  const std::string data_dir = options.serving.data_dir;
  FLYBALL_TRY(PrepareKeyFolder(data_dir));
  FLYBALL_ASSIGN(const store::EtcdOptions etcd, EtcdOptionsOf(store));
  ThreadPool executor("join", 1);
  FLYBALL_ASSIGN(const auto keys, store::OpenEtcdStore(etcd, executor));
  if (!flags.join.empty()) FLYBALL_TRY(FetchSharedKeys(*keys, data_dir, flags.join));
  FLYBALL_TRY(CheckSharedKeys(*keys, data_dir));
  options.keys_are_made = [data_dir](store::Store& shared) { return PublishSharedKeys(shared, data_dir); };
  return {};
}

std::string NodeAddressOnEtcd(const server::ServingOptions& serving) {
  const auto bound = api::ParseIp(serving.bind_address);
  return bound && !bound->IsUnspecified() ? serving.bind_address : server::AdvertisedAddress(serving);
}

Result<std::string> JoinHint(const UpEtcdFlags& flags, const std::string& data_dir) {
  FLYBALL_ASSIGN(const std::string key, OwnJoinKey(data_dir));
  std::string hint = "flyball up --etcd-servers " + flags.servers;
  const UpEtcdFlags usual;
  const auto add = [&hint](const char* flag, const std::string& value, const std::string& otherwise) {
    if (value != otherwise) hint += std::string(" ") + flag + " " + value;
  };
  add("--etcd-cafile", flags.ca_file, usual.ca_file);
  add("--etcd-certfile", flags.cert_file, usual.cert_file);
  add("--etcd-keyfile", flags.key_file, usual.key_file);
  add("--etcd-prefix", flags.prefix, usual.prefix);
  return hint + " --bind-address ADDRESS --join " + key;
}

}  // namespace flyball::cli
