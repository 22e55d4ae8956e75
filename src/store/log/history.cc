#include "store/log/history.h"

#include <algorithm>
#include <utility>

namespace flyball::store {
namespace {

// One key of the answer: an entry of the present or a version of the past.
struct Item {
  const Entry* present = nullptr;
  const std::string* key = nullptr;
  const PastVersion* past = nullptr;
};

Result<KeyValue> ContentOf(const Entry& entry, const VersionLoader& load) {
  if (entry.value) return entry.ToKeyValue();
  return load(entry.key, entry.id);
}

}  // namespace

Result<RangeResult> PresentRange(const Keyspace::Slice& slice, Revision revision, const VersionLoader& load) {
  RangeResult result;
  result.revision = revision;
  result.remaining = slice.remaining();
  result.more = result.remaining > 0;
  result.items.reserve(slice.size());
  Status status;
  slice.ForEach([&](const Entry& entry) {
    auto kv = ContentOf(entry, load);
    if (kv)
      result.items.push_back(std::move(*kv));
    else
      status = Unexpected(kv.error());
    return kv.has_value();
  });
  if (!status) return Unexpected(status.error());
  return result;
}

Result<RangeResult> RangeInPast(const Keyspace::Slice& present, const PastVersions& changed,
                                Revision revision, std::size_t limit, const VersionLoader& load) {
  std::vector<Item> items;
  items.reserve(present.size() + changed.size());
  auto past = changed.begin();
  const auto take_past = [&] {
    if (past->second.id != 0) items.push_back({nullptr, &past->first, &past->second});
    ++past;
  };
  present.ForEach([&](const Entry& entry) {
    while (past != changed.end() && past->first < entry.key) take_past();
    if (past != changed.end() && past->first == entry.key)
      take_past();
    else
      items.push_back({&entry, nullptr, nullptr});
  });
  while (past != changed.end()) take_past();

  RangeResult result;
  result.revision = revision;
  const std::size_t n = limit == 0 ? items.size() : std::min(limit, items.size());
  result.remaining = items.size() - n;
  result.more = result.remaining > 0;
  result.items.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Item& item = items[i];
    if (item.present) {
      FLYBALL_ASSIGN(KeyValue kv, ContentOf(*item.present, load));
      result.items.push_back(std::move(kv));
    } else if (item.past->loaded) {
      result.items.push_back(*item.past->loaded);
    } else {
      FLYBALL_ASSIGN(KeyValue kv, load(*item.key, item.past->id));
      result.items.push_back(std::move(kv));
    }
  }
  return result;
}

Error CompactedError(Revision wanted, Revision compacted) {
  return Error(Reason::kExpired, "the store has been compacted to revision " + std::to_string(compacted) +
                                     ": revision " + std::to_string(wanted) + " is no longer there");
}

Error FutureRevisionError(Revision wanted, Revision current) {
  return Error(Reason::kTimeout, "Too large resource version: " + std::to_string(wanted) +
                                     ", current: " + std::to_string(current));
}

}  // namespace flyball::store
