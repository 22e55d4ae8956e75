#include "cli/programs/store_command.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include "store/sqlite/sqlite_store.h"

namespace flyball::cli {
namespace {

struct StoreFlags {
  std::vector<std::string> files;
  std::string data_dir = "flyball-data";
};
using StoreFlagsPtr = std::shared_ptr<StoreFlags>;

std::string StorePath(const StoreFlags& flags) {
  return flags.data_dir + "/flyball.db";
}

int ReportStore(const Status& status, const std::string& good_news) {
  if (!status) {
    std::cerr << "error: " << status.error().message() << "\n";
    return 1;
  }
  std::cout << good_news << "\n";
  return 0;
}

int Save(const StoreFlags& flags) {
  return ReportStore(store::SaveSnapshot(StorePath(flags), flags.files[0]), "saved " + flags.files[0]);
}

int Restore(const StoreFlags& flags) {
  std::error_code ec;
  std::filesystem::create_directories(flags.data_dir, ec);
  return ReportStore(store::RestoreSnapshot(flags.files[0], StorePath(flags)),
                     "restored into " + flags.data_dir);
}

int ShowStatus(const StoreFlags& flags) {
  const auto info = store::ReadSnapshotInfo(flags.files[0]);
  if (!info) return ReportStore(Unexpected(info.error()), "");
  std::cout << "revision " << info->revision << "\nkeys " << info->keys << "\nbytes " << info->bytes << "\n";
  return 0;
}

void AddSnapshotVerb(const Command& snapshot, const char* name, const char* summary, const char* example,
                     int (*verb)(const StoreFlags&), bool needs_folder) {
  auto flags = std::make_shared<StoreFlags>();
  const Command command = snapshot.Sub(name, summary, example);
  command.Args("FILE", &flags->files, "The snapshot");
  command.Required("FILE");
  if (needs_folder) command.Option("--data-dir", &flags->data_dir, "Where the store lives");
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
  auto flags = std::make_shared<StoreFlags>();
  const Command check = store.Sub("check", "Verify every page and row; the server must not be running",
                                  "flyball store check --data-dir flyball-data");
  check.Option("--data-dir", &flags->data_dir, "Where the store lives");
  check.RunLocal(
      [flags] { return ReportStore(store::CheckStore(StorePath(*flags)), "the store is in order"); });
}

}  // namespace flyball::cli
