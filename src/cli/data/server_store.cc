#include "cli/data/server_store.h"

#include <algorithm>
#include <filesystem>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "cli/data/data_folder.h"
#include "store/memory/memory_store.h"
#include "store/partition/partitioned_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/transform/transforming_store.h"

namespace flyball::cli {
namespace {

// etcd's default.
constexpr std::int64_t kDefaultQuota = std::int64_t{2} << 30;

std::int64_t QuotaOf(const ServerStoreOptions& options) {
  const std::int64_t asked = options.quota_backend_bytes;
  return asked == 0 ? kDefaultQuota : std::max<std::int64_t>(asked, 0);
}

// Made once, durably, before anything is encrypted with it.
Status MakeEncryptionConfig(const std::string& path, const std::string& database) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return {};
  FLYBALL_TRY(MakePrivateFolder(std::filesystem::path(path).parent_path().string()));
  FLYBALL_ASSIGN(const std::string text, server::NewEncryptionConfigText());
  FLYBALL_TRY(WriteFileDurably(path, text));
  log::Info("made a key to encrypt Secrets at rest; keep a copy of it", {{"path", path}});
  if (std::filesystem::exists(database, ignored))
    log::Warning("Secrets from before are not encrypted; stop the server and run `flyball store encrypt`");
  return {};
}

bool UsesKms(const server::EncryptionConfig& config) {
  for (const auto& rule : config.rules)
    for (const auto& provider : rule.providers)
      if (provider.type == server::EncryptionProvider::Type::kKms) return true;
  return false;
}

}  // namespace

Result<store::EtcdOptions> EtcdOptionsOf(const ServerStoreOptions& options) {
  store::EtcdOptions etcd = options.etcd;
  const auto read = [](const std::string& path, std::string& into) -> Status {
    if (path.empty()) return {};
    FLYBALL_ASSIGN(into, ReadFile(path));
    return {};
  };
  FLYBALL_TRY(read(options.etcd_ca_file, etcd.tls.ca_pem));
  FLYBALL_TRY(read(options.etcd_cert_file, etcd.tls.certificate_pem));
  FLYBALL_TRY(read(options.etcd_key_file, etcd.tls.private_key_pem));
  return etcd;
}

std::string DefaultEncryptionConfig(const std::string& data_dir) {
  return PkiPath(data_dir) + "/encryption-config.yaml";
}

Result<std::unique_ptr<ServerStore>> ServerStore::Open(const std::string& data_dir,
                                                       const ServerStoreOptions& options, Executor& executor,
                                                       Metrics& metrics) {
  std::unique_ptr<ServerStore> opened(new ServerStore(metrics));
  FLYBALL_TRY(opened->LoadEncryption(data_dir, options, metrics));
  FLYBALL_TRY(opened->OpenStore(data_dir, options, executor));
  opened->AddMetrics(metrics);
  if (options.snapshots.interval > Duration::zero()) {
    FLYBALL_ASSIGN(opened->snapshots_, SnapshotSchedule::Start(data_dir, options.snapshots, metrics));
  }
  return opened;
}

Status ServerStore::OpenEtcd(const ServerStoreOptions& options, Executor& executor) {
  if (options.storage_media_type != server::kStoredAsProtobuf &&
      options.storage_media_type != server::kStoredAsJson)
    return Unexpected(BadRequest("--storage-media-type \"" + options.storage_media_type +
                                 "\" invalid, must be one of: application/json, "
                                 "application/vnd.kubernetes.protobuf"));
  if (options.snapshots.interval > Duration::zero())
    return Unexpected(
        BadRequest("--snapshot-interval is for the data folder's database: snapshots of an etcd "
                   "are made by `etcdctl snapshot save`"));
  FLYBALL_ASSIGN(store::EtcdOptions etcd, EtcdOptionsOf(options));
  media_type_ =
      std::make_unique<server::StoredMediaType>(options.storage_media_type == server::kStoredAsProtobuf);
  FLYBALL_ASSIGN(store_, OpenCluster(etcd, executor));
  if (options.etcd_overrides.empty()) return {};
  std::vector<store::StorePart> parts;
  for (const EtcdOverride& part : options.etcd_overrides) {
    etcd.endpoints = part.endpoints;
    auto cluster = OpenCluster(etcd, executor);
    if (!cluster) return Unexpected(cluster.error().Annotate("--etcd-servers-overrides"));
    parts.push_back({part.prefixes, std::move(*cluster)});
  }
  store_ = store::NewPartitionedStore(std::move(store_), std::move(parts));
  overrides_ = options.etcd_overrides;
  return {};
}

Result<std::unique_ptr<store::Store>> ServerStore::OpenCluster(const store::EtcdOptions& etcd,
                                                               Executor& executor) {
  FLYBALL_ASSIGN(auto inner, store::OpenEtcdStore(etcd, executor));
  auto sealed = store::NewTransformingStore(std::move(inner), encryption_);
  return store::NewTransformingStore(std::move(sealed), *media_type_);
}

Status ServerStore::OpenStore(const std::string& data_dir, const ServerStoreOptions& options,
                              Executor& executor) {
  if (options.uses_etcd()) return OpenEtcd(options, executor);
  std::unique_ptr<store::Store> inner;
  if (options.in_memory) {
    inner = store::NewMemoryStore(executor);
  } else {
    FLYBALL_ASSIGN(
        inner, store::OpenSqliteStore(
                   {.path = DatabasePath(data_dir), .sync = options.sync, .quota_bytes = QuotaOf(options)},
                   executor));
  }
  store_ = store::NewTransformingStore(std::move(inner), encryption_);
  return {};
}

Status ServerStore::LoadEncryption(const std::string& data_dir, const ServerStoreOptions& options,
                                   Metrics& metrics) {
  std::string path = options.encryption_provider_config;
  if (path.empty()) {
    path = DefaultEncryptionConfig(data_dir);
    if (options.encrypt_by_default) FLYBALL_TRY(MakeEncryptionConfig(path, DatabasePath(data_dir)));
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      if (!options.encryption_automatic_reload) return {};
      return Unexpected(
          BadRequest("--encryption-provider-config-automatic-reload needs --encryption-provider-config"));
    }
  }
  FLYBALL_ASSIGN(const server::EncryptionConfig config, server::LoadEncryptionConfig(path));
  encryption_.Use(config);
  may_use_kms_ = options.encryption_automatic_reload || UsesKms(config);
  if (!options.encryption_automatic_reload) return {};
  FLYBALL_ASSIGN(std::string text, ReadFile(path));
  // A thread of its own: a KMS plugin that is slow to answer must not hold up requests.
  reloading_ = std::make_unique<ThreadPool>("encryption", 1);
  reload_ =
      std::make_unique<server::EncryptionReload>(path, std::move(text), encryption_, *reloading_, metrics);
  return {};
}

server::HealthChecks ServerStore::HealthChecks() const {
  server::HealthChecks checks;
  for (std::size_t i = 0; i < overrides_.size(); ++i)
    checks.emplace_back("etcd-override-" + std::to_string(i),
                        [this, i] { return store_->PartOf(overrides_[i].prefixes.front()).Health(); });
  if (may_use_kms_) checks.emplace_back("kms-providers", [this] { return encryption_.health(); });
  return checks;
}

void ServerStore::AddMetrics(Metrics& metrics) {
  Gauge& size = metrics.GetGauge("apiserver_storage_size_bytes",
                                 "Size of the storage database file physically allocated in bytes.",
                                 {{"storage_cluster_id", "flyball"}});
  Gauge& in_use = metrics.GetGauge("flyball_store_size_in_use_bytes",
                                   "What keys and history take of the storage database file.");
  Gauge& quota = metrics.GetGauge("flyball_store_quota_bytes", "The size quota of the store; 0: none.");
  Gauge& alarm =
      metrics.GetGauge("flyball_store_alarm", "1 while an alarm of the store is on.", {{"alarm", "NOSPACE"}});
  Gauge& keys = metrics.GetGauge("flyball_store_keys", "Keys in the store.");
  Gauge& revision = metrics.GetGauge("flyball_store_revision", "The store's latest revision.");
  metrics_reader_ = metrics.BeforeReading([this, &size, &in_use, &quota, &alarm, &keys, &revision] {
    const store::StoreStats stats = store_->Stats();
    size.Set(static_cast<double>(stats.bytes_on_disk));
    in_use.Set(static_cast<double>(stats.bytes_in_use));
    quota.Set(static_cast<double>(stats.quota_bytes));
    alarm.Set(stats.no_space ? 1 : 0);
    keys.Set(static_cast<double>(stats.keys));
    revision.Set(static_cast<double>(stats.revision));
  });
}

}  // namespace flyball::cli
