// History: the changes an engine remembers, and how the past is put together from them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "store/log/keyspace.h"
#include "store/store.h"

namespace flyball::store {

struct EventSlice {
  std::vector<Event> events;
  Revision reached = 0;  // everything up to and including this revision is in `events` or has another prefix
};

class History {
 public:
  virtual ~History() = default;
  // Events under the prefix with after < revision <= up_to, from the oldest; as many as the engine reads at a
  // time, at least one revision, whole revisions only. Expired if some of them have been compacted.
  virtual Result<EventSlice> ReadEvents(std::string_view prefix, Revision after, Revision up_to) = 0;
};

// Reads the content of a version from the engine's file.
using VersionLoader = std::function<Result<KeyValue>(const std::string& key, LogId id)>;

// The range as the slice has it; `revision` is when it was taken. `load` is for values that are not in
// memory.
Result<RangeResult> PresentRange(const Keyspace::Slice& slice, Revision revision, const VersionLoader& load);

// What a key was at a past revision: absent (id 0), or a version, whose content is loaded only if it is
// wanted.
struct PastVersion {
  LogId id = 0;
  std::optional<KeyValue> loaded;
};
// The keys that have changed since the past revision.
using PastVersions = std::map<std::string, PastVersion, std::less<>>;

// The range as it was at `revision`: the present without the keys that changed since, plus what those were.
Result<RangeResult> RangeInPast(const Keyspace::Slice& present, const PastVersions& changed,
                                Revision revision, std::size_t limit, const VersionLoader& load);

Error CompactedError(Revision wanted, Revision compacted);
Error FutureRevisionError(Revision wanted, Revision current);

}  // namespace flyball::store
