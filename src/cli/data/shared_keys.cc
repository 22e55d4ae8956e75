#include "cli/data/shared_keys.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/files/durable_file.h"
#include "base/run/notification.h"
#include "base/values/ascii.h"
#include "cli/data/data_folder.h"
#include "crypto/sealing.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball::cli {
namespace {

constexpr std::size_t kKeyBytes = 32;
// What each server can issue for itself is not among them.
constexpr std::array<std::string_view, 6> kShared{"pki/ca.crt",
                                                  "pki/ca.key",
                                                  "pki/front-proxy-ca.crt",
                                                  "pki/front-proxy-ca.key",
                                                  "pki/sa.key",
                                                  "pki/encryption-config.yaml"};

constexpr std::string_view kEncryptionConfig = "pki/encryption-config.yaml";

std::string JoinKeyPath(const std::string& data_dir) {
  return PkiPath(data_dir) + "/join-key";
}

// What it seals with.
Result<std::string> BytesOf(std::string_view join_key) {
  if (join_key.size() != 2 * kKeyBytes)
    return Unexpected(BadRequest("--join: that is no join key; the first server's is in its pki/join-key"));
  return net::Sha256(join_key);
}

Result<std::vector<store::SnapshotFile>> OwnFiles(const std::string& data_dir) {
  FLYBALL_ASSIGN(auto files, CollectKeyFiles(data_dir));
  std::erase_if(files, [](const store::SnapshotFile& file) {
    return std::find(kShared.begin(), kShared.end(), file.name) == kShared.end();
  });
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

// The store's, opened; nullopt if it has none.
Result<std::optional<std::vector<store::SnapshotFile>>> StoredFiles(const store::Store& store,
                                                                    const std::string& key) {
  FLYBALL_ASSIGN(const auto stored, store.Get(kSharedKeysKey));
  if (!stored) return std::optional<std::vector<store::SnapshotFile>>();
  FLYBALL_ASSIGN(const json::Value envelope, json::Parse(*stored->value));
  FLYBALL_ASSIGN(const std::string sealed, net::Base64Decode(envelope["sealed"].string_or("")));
  const auto text = crypto::OpenAesGcm(key, sealed, kSharedKeysKey);
  if (!text)
    return Unexpected(BadRequest("the keys in this etcd are of another cluster, or of another join key"));
  FLYBALL_ASSIGN(const json::Value value, json::Parse(*text));
  if (!value.is_object())
    return Unexpected(InternalError("the keys in this etcd are in no form that is known"));
  std::vector<store::SnapshotFile> files;
  for (const auto& [name, content] : value.as_object())
    files.push_back({std::string(name), std::string(content.string_or(""))});
  return std::optional(std::move(files));
}

}  // namespace

Result<std::string> OwnJoinKey(const std::string& data_dir) {
  const std::string path = JoinKeyPath(data_dir);
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return ReadFile(path);
  FLYBALL_ASSIGN(const std::string bytes, crypto::RandomKey(kKeyBytes));
  FLYBALL_TRY(MakePrivateFolder(PkiPath(data_dir)));
  std::string key = net::HexEncode(bytes);
  FLYBALL_TRY(WriteFileDurably(path, key));
  return key;
}

Status FetchSharedKeys(const store::Store& store, const std::string& data_dir, const std::string& join_key) {
  const std::string text(Trimmed(join_key));
  FLYBALL_ASSIGN(const std::string key, BytesOf(text));
  FLYBALL_ASSIGN(const auto files, StoredFiles(store, key));
  if (!files)
    return Unexpected(Error(Reason::kNotFound,
                            "--join: this etcd has no keys of a cluster; start its first server without"));
  FLYBALL_TRY(RestoreKeyFiles(data_dir, *files));
  return WriteFileDurably(JoinKeyPath(data_dir), text);
}

Status CheckSharedKeys(const store::Store& store, const std::string& data_dir) {
  FLYBALL_ASSIGN(const std::string text, OwnJoinKey(data_dir));
  FLYBALL_ASSIGN(const std::string key, BytesOf(text));
  const auto stored = StoredFiles(store, key);
  if (!stored)
    return Unexpected(BadRequest(stored.error().message() +
                                 ": join it (--join, with what is in pki/join-key of one of its servers)"));
  if (!*stored) return {};
  FLYBALL_ASSIGN(const auto own, OwnFiles(data_dir));
  for (const auto& file : **stored) {
    if (file.name == kEncryptionConfig) continue;  // it may have been changed here
    const auto same = [&](const auto& mine) {
      return mine.name == file.name && mine.content == file.content;
    };
    if (std::none_of(own.begin(), own.end(), same))
      return Unexpected(
          BadRequest(data_dir + "/" + file.name + " is not what the servers of this etcd have"));
  }
  return {};
}

Status PublishSharedKeys(store::Store& store, const std::string& data_dir) {
  FLYBALL_ASSIGN(const std::string text, OwnJoinKey(data_dir));
  FLYBALL_ASSIGN(const std::string key, BytesOf(text));
  FLYBALL_ASSIGN(const auto own, OwnFiles(data_dir));
  FLYBALL_TRY(CheckSharedKeys(store, data_dir));
  FLYBALL_ASSIGN(const auto before, store.Get(kSharedKeysKey));
  json::Object files;
  for (const auto& file : own) files.Set(file.name, file.content);
  FLYBALL_ASSIGN(const std::string sealed,
                 crypto::SealAesGcm(key, json::Write(std::move(files)), kSharedKeysKey));
  // JSON, as all values are to the layers of the store.
  std::string envelope = json::Write(json::Object{{"sealed", net::Base64Encode(sealed)}});
  store::Transaction transaction;
  transaction.push_back(
      {kSharedKeysKey, MakeBytes(std::move(envelope)),
       before ? store::Precondition::ModRevision(before->mod_revision) : store::Precondition::Absent()});
  const auto done = std::make_shared<Notification<Result<store::CommitOutcome>>>();
  store.Commit(std::move(transaction),
               [done](Result<store::CommitOutcome> outcome) { done->Set(std::move(outcome)); });
  FLYBALL_ASSIGN(const auto outcome, done->Wait());
  return outcome.committed ? Status() : CheckSharedKeys(store, data_dir);
}

}  // namespace flyball::cli
