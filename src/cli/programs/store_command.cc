#include "cli/programs/store_command.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include "base/files/durable_file.h"
#include "base/observe/progress.h"
#include "base/values/ascii.h"
#include "cli/data/data_folder.h"
#include "cli/data/server_store.h"
#include "cli/data/store_copy.h"
#include "server/encryption/encryption_config.h"
#include "server/encryption/value_encryption.h"
#include "store/sqlite/sqlite_store.h"
#include "store/transform/transforming_store.h"

namespace flyball::cli {
namespace {

// Events that are rewritten live as long again as the API server lets new ones live by default.
constexpr Duration kEventTtl = std::chrono::hours(1);

struct StoreFlags {
  std::vector<std::string> files;
  std::string data_dir = "flyball-data";
  std::string passphrase_file, encryption_config;
};
using StoreFlagsPtr = std::shared_ptr<StoreFlags>;

std::string StorePath(const StoreFlags& flags) {
  return DatabasePath(flags.data_dir);
}

int ReportStore(const Status& status, const std::string& good_news) {
  if (!status) {
    std::cerr << "error: " << status.error().message() << "\n";
    return 1;
  }
  std::cout << good_news << "\n";
  return 0;
}

std::int64_t FileSize(const std::string& path) {
  std::error_code ec;
  const auto size = std::filesystem::file_size(path, ec);
  return ec ? 0 : static_cast<std::int64_t>(size);
}

// How much of a copy is there. Of a file with free pages less is copied than it has.
std::string CopyText(const char* doing, const std::string& partial, std::int64_t whole) {
  const std::int64_t copied = FileSize(partial);
  return ProgressBar(copied, whole) + "  " + doing + ": " + SizeText(copied) + " of at most " +
         SizeText(whole);
}

Status SaveWithKeys(const StoreFlags& flags) {
  std::error_code ignored;
  if (!std::filesystem::exists(StorePath(flags), ignored))
    return Unexpected(
        BadRequest("there is no database in " + flags.data_dir +
                   "; a cluster whose data is in etcd is saved by `etcdctl snapshot save FILE`"));
  FLYBALL_ASSIGN(auto files, CollectKeyFiles(flags.data_dir));
  FLYBALL_ASSIGN(auto passphrase, ReadPassphrase(flags.passphrase_file));
  const bool open = passphrase.empty() && !files.empty();
  const std::int64_t whole = FileSize(StorePath(flags));
  {
    ProgressTicker ticker([&] { return CopyText("saving", flags.files[0] + ".partial", whole); });
    FLYBALL_TRY(
        store::SaveSnapshot(StorePath(flags), flags.files[0], {std::move(files), std::move(passphrase)}));
  }
  if (open)
    std::cerr << "note: the snapshot contains the private keys of the cluster: keep it as safe as the data "
                 "folder, or seal them with --passphrase-file\n";
  return {};
}

int Save(const StoreFlags& flags) {
  return ReportStore(SaveWithKeys(flags), "saved " + flags.files[0]);
}

// The keys first: what a crash leaves is refused by the server, with what to do.
Status RestoreWithKeys(const StoreFlags& flags) {
  FLYBALL_ASSIGN(const auto passphrase, ReadPassphrase(flags.passphrase_file));
  FLYBALL_ASSIGN(const auto files, store::ReadSnapshotFiles(flags.files[0], passphrase));
  FLYBALL_TRY(store::CheckRestoreTarget(StorePath(flags)));
  FLYBALL_TRY(MakePrivateFolder(flags.data_dir));
  FLYBALL_TRY(RestoreKeyFiles(flags.data_dir, files));
  const std::int64_t whole = FileSize(flags.files[0]);
  ProgressTicker ticker([&] { return CopyText("restoring", StorePath(flags) + ".partial", whole); });
  return store::RestoreSnapshot(flags.files[0], StorePath(flags));
}

int Restore(const StoreFlags& flags) {
  return ReportStore(RestoreWithKeys(flags), "restored into " + flags.data_dir);
}

int ShowStatus(const StoreFlags& flags) {
  const auto info = store::ReadSnapshotInfo(flags.files[0]);
  if (!info) return ReportStore(Unexpected(info.error()), "");
  std::cout << "revision " << info->revision << "\nkeys " << info->keys << "\nbytes " << info->bytes
            << "\nfiles " << info->files << (info->sealed ? " (sealed)" : "") << "\nchecksum "
            << (info->verified ? "ok" : "none") << "\n";
  return 0;
}

void AddSnapshotVerb(const Command& snapshot, const char* name, const char* summary, const char* example,
                     int (*verb)(const StoreFlags&), bool needs_folder) {
  auto flags = std::make_shared<StoreFlags>();
  const Command command = snapshot.Sub(name, summary, example);
  command.Args("FILE", &flags->files, "The snapshot");
  command.Required("FILE");
  if (needs_folder) {
    command.Option("--data-dir", &flags->data_dir, "Where the store lives");
    command.Option("--passphrase-file", &flags->passphrase_file,
                   "File with the passphrase that seals the keys in the snapshot");
  }
  command.RunLocal([flags, verb] { return verb(*flags); });
}

void AddCheck(const Command& store) {
  struct CheckFlags : StoreFlags {
    bool accept_missing_log = false;
  };
  auto flags = std::make_shared<CheckFlags>();
  const Command check = store.Sub("check", "Verify every page and row; the server must not be running",
                                  "flyball store check --data-dir flyball-data");
  check.Option("--data-dir", &flags->data_dir, "Where the store lives");
  check.Flag("--accept-missing-log", &flags->accept_missing_log,
             "Go on without the latest writes if the write-ahead log has been lost");
  check.RunLocal([flags] {
    return ReportStore(
        store::CheckStore(StorePath(*flags), {.accept_missing_log = flags->accept_missing_log}),
        "the store is in order");
  });
}

int Init(const StoreFlags& flags) {
  if (const Status made = MakePrivateFolder(flags.data_dir); !made) return ReportStore(made, "");
  return ReportStore(store::InitStore(StorePath(flags)), "made an empty store in " + flags.data_dir);
}

int Defrag(const StoreFlags& flags) {
  const auto result = store::DefragStore(StorePath(flags));
  if (!result) return ReportStore(Unexpected(result.error()), "");
  std::cout << "bytes before " << result->bytes_before << "\nbytes after " << result->bytes_after << "\n";
  return 0;
}

// The store, rewritten and without what it was before.
Result<store::RewriteResult> EncryptStore(const StoreFlags& flags) {
  const std::string path =
      flags.encryption_config.empty() ? DefaultEncryptionConfig(flags.data_dir) : flags.encryption_config;
  FLYBALL_ASSIGN(const auto config, server::LoadEncryptionConfig(path));
  Metrics metrics;
  server::ValueEncryption encryption(metrics);
  encryption.Use(config);
  store::RewriteResult result;
  {
    ThreadPool executor("store", 1);
    FLYBALL_ASSIGN(const auto opened, store::OpenSqliteStore({.path = StorePath(flags)}, executor));
    FLYBALL_ASSIGN(result, store::RewriteStaleValues(*opened, encryption, [](std::string_view key) {
                     return key.starts_with("/registry/events/") ? kEventTtl : Duration();
                   }));
  }
  FLYBALL_TRY(store::DefragStore(StorePath(flags), {.forget_history = true}));
  return result;
}

int Encrypt(const StoreFlags& flags) {
  const auto result = EncryptStore(flags);
  if (!result) return ReportStore(Unexpected(result.error()), "");
  std::cout << "objects " << result->examined << "\nrewritten " << result->rewritten << "\n";
  return 0;
}

void AddEncrypt(const Command& store) {
  auto flags = std::make_shared<StoreFlags>();
  const Command encrypt = store.Sub(
      "encrypt",
      "Write every object again that is not encrypted as configured now; the server must not be running",
      "flyball store encrypt --data-dir flyball-data");
  encrypt.Option("--data-dir", &flags->data_dir, "Where the store lives");
  encrypt.Option(
      "--encryption-provider-config", &flags->encryption_config,
      "The server's EncryptionConfiguration; pki/encryption-config.yaml of the data folder if absent");
  encrypt.RunLocal([flags] { return Encrypt(*flags); });
}

struct StoreCopyFlags {
  std::string from, to, encryption_config, media_type{server::kStoredAsProtobuf};
  std::string ca_file, cert_file, key_file, prefix = "/registry";
};

// "sqlite:DIR" or "etcd:URL,URL".
struct StorePlace {
  bool etcd = false;
  std::string where;
};
Result<StorePlace> ParsePlace(const char* flag, const std::string& text) {
  if (text.starts_with("sqlite:") && text.size() > 7) return StorePlace{false, text.substr(7)};
  if (text.starts_with("etcd:") && text.size() > 5) return StorePlace{true, text.substr(5)};
  return Unexpected(
      BadRequest(std::string(flag) + ": want sqlite:DIR or etcd:URL[,URL...], got \"" + text + "\""));
}

// `keys` is the data folder whose encryption configuration both sides use.
Result<std::unique_ptr<ServerStore>> OpenPlace(const StorePlace& place, const StoreCopyFlags& flags,
                                               const std::string& keys, Executor& executor,
                                               Metrics& metrics) {
  ServerStoreOptions options;
  options.encryption_provider_config = flags.encryption_config;
  options.storage_media_type = flags.media_type;
  if (place.etcd) {
    options.etcd.endpoints = SplitWords(place.where, ",");
    options.etcd.prefix = flags.prefix;
    options.etcd.compaction_interval = {};
    options.etcd_ca_file = flags.ca_file;
    options.etcd_cert_file = flags.cert_file;
    options.etcd_key_file = flags.key_file;
  }
  return ServerStore::Open(keys, options, executor, metrics);
}

Result<StoreCopy> CopyPlaces(const StoreCopyFlags& flags) {
  FLYBALL_ASSIGN(const StorePlace from, ParsePlace("--from", flags.from));
  FLYBALL_ASSIGN(const StorePlace to, ParsePlace("--to", flags.to));
  if (!from.etcd && !to.etcd)
    return Unexpected(BadRequest("a copy within SQLite: use `flyball snapshot save` and `restore`"));
  std::error_code ignored;
  if (!from.etcd && !std::filesystem::exists(DatabasePath(from.where), ignored))
    return Unexpected(BadRequest("--from: there is no database in " + from.where));
  if (!to.etcd) FLYBALL_TRY(MakePrivateFolder(to.where));
  const std::string keys = !from.etcd ? from.where : !to.etcd ? to.where : "";
  ThreadPool executor("store", 2);
  Metrics from_metrics, to_metrics;
  FLYBALL_ASSIGN(const auto source, OpenPlace(from, flags, keys, executor, from_metrics));
  FLYBALL_ASSIGN(const auto target, OpenPlace(to, flags, keys, executor, to_metrics));
  return CopyStore(source->store(), target->store());
}

int RunStoreCopy(const StoreCopyFlags& flags) {
  const auto copy = CopyPlaces(flags);
  if (!copy) return ReportStore(Unexpected(copy.error()), "");
  std::cout << "objects " << copy->objects << "\nrevision of the source " << copy->from_revision
            << "\nrevision of the copy " << copy->to_revision << "\nchecksum " << copy->checksum
            << " (source and copy)\n";
  std::cerr << "note: objects have new resourceVersions in the copy. Clients that are running must list "
               "again: restart controllers, schedulers and nodes\n";
  if (!copy->source_moved_on) return 0;
  std::cerr
      << "error: the source was written to meanwhile, and that is not in the copy: stop its API servers "
         "and copy again, into an empty store\n";
  return 1;
}

void AddCopy(const Command& store) {
  auto flags = std::make_shared<StoreCopyFlags>();
  const Command copy = store.Sub(
      "copy", "Move a cluster's objects to etcd or back; the API servers must not be running",
      "flyball store copy --from sqlite:flyball-data --to etcd:http://10.0.0.1:2379,http://10.0.0.2:2379");
  copy.Option("--from", &flags->from,
              "Where the objects are: sqlite:DIR (a data folder) or etcd:URL[,URL...]");
  copy.Option("--to", &flags->to, "Where they go: the same, without any objects yet");
  copy.Option("--encryption-provider-config", &flags->encryption_config,
              "The EncryptionConfiguration of both; pki/encryption-config.yaml of the data folder if absent");
  copy.Option("--storage-media-type", &flags->media_type, "How built-in kinds are written into etcd");
  copy.Option("--etcd-cafile", &flags->ca_file, "The authority of etcd's certificates");
  copy.Option("--etcd-certfile", &flags->cert_file, "The client certificate for etcd");
  copy.Option("--etcd-keyfile", &flags->key_file, "Its key");
  copy.Option("--etcd-prefix", &flags->prefix, "What all keys in etcd begin with");
  copy.RunLocal([flags] { return RunStoreCopy(*flags); });
}

void AddStoreVerb(const Command& store, const char* name, const char* summary, const char* example,
                  int (*verb)(const StoreFlags&)) {
  auto flags = std::make_shared<StoreFlags>();
  const Command command = store.Sub(name, summary, example);
  command.Option("--data-dir", &flags->data_dir, "Where the store lives");
  command.RunLocal([flags, verb] { return verb(*flags); });
}

}  // namespace

void AddStoreCommands(const Command& root) {
  const Command snapshot = root.Sub("snapshot", "Copy the store to a file, and back",
                                    "flyball snapshot save backup.db --data-dir flyball-data");
  snapshot.RequireSub();
  AddSnapshotVerb(snapshot, "save", "Copy the store, also while a server runs on it",
                  "flyball snapshot save backup.db --data-dir flyball-data", &Save, true);
  AddSnapshotVerb(snapshot, "restore", "Make a store from a snapshot",
                  "flyball snapshot restore backup.db --data-dir new-data", &Restore, true);
  AddSnapshotVerb(snapshot, "status", "Say what is in a snapshot", "flyball snapshot status backup.db",
                  &ShowStatus, false);
  const Command store =
      root.Sub("store", "Look after the store", "flyball store check --data-dir flyball-data");
  store.RequireSub();
  AddCheck(store);
  AddEncrypt(store);
  AddCopy(store);
  AddStoreVerb(store, "init", "Make an empty store, for a new cluster with existing certificates",
               "flyball store init --data-dir flyball-data", &Init);
  AddStoreVerb(store, "defrag", "Give free space inside the database back; the server must not be running",
               "flyball store defrag --data-dir flyball-data", &Defrag);
}

}  // namespace flyball::cli
