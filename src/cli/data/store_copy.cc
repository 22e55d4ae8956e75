#include "cli/data/store_copy.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/run/notification.h"
#include "crypto/digest.h"

namespace flyball::cli {
namespace {

constexpr const char* kObjects = "/registry/";
constexpr Duration kCopiedEventTtl = std::chrono::hours(1);
// etcd takes 128 operations and 1.5 MiB in one transaction.
constexpr std::size_t kMostAtOnce = 100, kMostBytesAtOnce = 1u << 20;

bool IsCopied(const std::string& key) {
  return !key.starts_with("/registry/masterleases/");
}

Status PutAll(store::Store& to, store::Transaction transaction) {
  if (transaction.empty()) return {};
  const auto done = std::make_shared<Notification<Result<store::CommitOutcome>>>();
  const std::string first = transaction.front().key;
  to.Commit(std::move(transaction),
            [done](Result<store::CommitOutcome> outcome) { done->Set(std::move(outcome)); });
  const auto outcome = done->Wait();
  if (!outcome) return Unexpected(outcome.error());
  if (!outcome->committed)
    return Unexpected(InternalError("somebody else writes to the target: " + first + " or one after it"));
  return {};
}

Status PutObjects(store::Store& to, const std::vector<store::KeyValue>& objects) {
  store::Transaction transaction;
  std::size_t bytes = 0;
  for (const auto& kv : objects) {
    if (transaction.size() == kMostAtOnce || bytes + kv.value->size() > kMostBytesAtOnce) {
      FLYBALL_TRY(PutAll(to, std::exchange(transaction, {})));
      bytes = 0;
    }
    bytes += kv.value->size();
    const Duration ttl = kv.key.starts_with("/registry/events/") ? kCopiedEventTtl : Duration();
    transaction.push_back({kv.key, kv.value, store::Precondition::Absent(), ttl});
  }
  return PutAll(to, std::move(transaction));
}

Result<store::RangeResult> ReadObjects(const store::Store& store) {
  FLYBALL_ASSIGN(auto all, store.Range(kObjects));
  std::erase_if(all.items, [](const store::KeyValue& kv) { return !IsCopied(kv.key); });
  return all;
}

std::string Hex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string ChecksumOf(const std::vector<store::KeyValue>& objects) {
  crypto::Sha256 hash;
  for (const auto& kv : objects) {
    hash.Update(kv.key + '\0' + std::to_string(kv.value->size()) + '\0');
    hash.Update(*kv.value);
  }
  return Hex(hash.Finish());
}

// What differs first.
Error Difference(const std::vector<store::KeyValue>& from, const std::vector<store::KeyValue>& to) {
  std::size_t i = 0;
  while (i < from.size() && i < to.size() && from[i].key == to[i].key && *from[i].value == *to[i].value) ++i;
  const std::string& key = i < from.size() ? from[i].key : to[i].key;
  return InternalError("the copy differs from the source at " + key);
}

}  // namespace

Result<StoreCopy> CopyStore(store::Store& from, store::Store& to) {
  FLYBALL_ASSIGN(const auto there, to.Count(kObjects));
  if (there != 0)
    return Unexpected(
        BadRequest("the target has " + std::to_string(there) + " keys already: copy into an empty store"));
  FLYBALL_ASSIGN(const auto source, ReadObjects(from));
  FLYBALL_TRY(PutObjects(to, source.items));
  FLYBALL_ASSIGN(const auto copy, ReadObjects(to));
  StoreCopy result{source.items.size(), source.revision, copy.revision, ChecksumOf(source.items)};
  if (ChecksumOf(copy.items) != result.checksum) return Unexpected(Difference(source.items, copy.items));
  FLYBALL_ASSIGN(const auto now, from.Range(kObjects, {.limit = 1}));
  result.source_moved_on = now.revision != source.revision;
  return result;
}

}  // namespace flyball::cli
