// ServerStore: the store of an API server with what surrounds it: the size quota, encryption at rest,
// scheduled snapshots, metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/values/result.h"
#include "cli/data/etcd_overrides.h"
#include "cli/data/snapshot_schedule.h"
#include "server/api_server.h"
#include "server/encryption/encryption_reload.h"
#include "server/encryption/stored_media_type.h"
#include "server/encryption/value_encryption.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"

namespace flyball::cli {

struct ServerStoreOptions {
  bool in_memory = false;                // nothing is kept when the server ends; for tests
  bool sync = true;                      // see SqliteOptions
  std::int64_t quota_backend_bytes = 0;  // 0: etcd's default, 2 GiB; negative: no limit
  // Empty: <data_dir>/pki/encryption-config.yaml if it is there.
  std::string encryption_provider_config;
  bool encryption_automatic_reload = false;
  bool encrypt_by_default = false;  // make that file, with a new key for Secrets, if it is not there
  SnapshotScheduleOptions snapshots;

  // An etcd cluster instead of the data folder's database; without endpoints: that.
  store::EtcdOptions etcd;
  // Resources that are in other clusters, which are used with the same options.
  std::vector<EtcdOverride> etcd_overrides;
  std::string etcd_ca_file, etcd_cert_file, etcd_key_file;
  std::string storage_media_type{server::kStoredAsProtobuf};  // in etcd

  bool uses_etcd() const { return !etcd.endpoints.empty(); }
};

// How to open the etcd of the options, with the texts of its files.
Result<store::EtcdOptions> EtcdOptionsOf(const ServerStoreOptions& options);

// The encryption configuration a data folder has by itself.
std::string DefaultEncryptionConfig(const std::string& data_dir);

// Thread-safe.
class ServerStore {
 public:
  // The executor and the metrics must outlive it.
  static Result<std::unique_ptr<ServerStore>> Open(const std::string& data_dir,
                                                   const ServerStoreOptions& options, Executor& executor,
                                                   Metrics& metrics);

  store::Store& store() { return *store_; }
  // What /healthz shows of it beside the store itself: "kms-providers" where there are KMS plugins, or may
  // come to be, and "etcd-override-0" and so on. They end with this.
  server::HealthChecks HealthChecks() const;

 private:
  explicit ServerStore(Metrics& metrics) : encryption_(metrics) {}
  Status LoadEncryption(const std::string& data_dir, const ServerStoreOptions& options, Metrics& metrics);
  Status OpenStore(const std::string& data_dir, const ServerStoreOptions& options, Executor& executor);
  Status OpenEtcd(const ServerStoreOptions& options, Executor& executor);
  // One cluster, whose values are transformed as all are.
  Result<std::unique_ptr<store::Store>> OpenCluster(const store::EtcdOptions& etcd, Executor& executor);
  void AddMetrics(Metrics& metrics);

  server::ValueEncryption encryption_;
  bool may_use_kms_ = false;
  std::vector<EtcdOverride> overrides_;
  std::unique_ptr<ThreadPool> reloading_;
  std::unique_ptr<server::EncryptionReload> reload_;
  std::unique_ptr<server::StoredMediaType> media_type_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<SnapshotSchedule> snapshots_;
  std::shared_ptr<void> metrics_reader_;
};

}  // namespace flyball::cli
