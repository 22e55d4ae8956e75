// The messages of etcd's v3 API that the engine uses (etcdserverpb/rpc.proto, mvccpb/kv.proto), by field
// number. Fields that are not needed are not read. Requests are functions that return the encoded message;
// responses are structs with a Decode function, InternalError if the bytes are no such message.
//
// Functions only; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "store/store.h"

namespace flyball::store::etcd {

inline constexpr const char* kRangeMethod = "/etcdserverpb.KV/Range";
inline constexpr const char* kTxnMethod = "/etcdserverpb.KV/Txn";
inline constexpr const char* kCompactMethod = "/etcdserverpb.KV/Compact";
inline constexpr const char* kWatchMethod = "/etcdserverpb.Watch/Watch";
inline constexpr const char* kLeaseGrantMethod = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr const char* kStatusMethod = "/etcdserverpb.Maintenance/Status";

// Keys from `key` on and before `end`. An empty `end`: that key alone.
struct KeyRange {
  std::string key, end;
};
// Every key with the prefix.
KeyRange PrefixRange(std::string_view prefix);

struct RangeRequest {
  KeyRange range;
  std::int64_t limit = 0;  // 0: all
  Revision revision = 0;   // 0: now
  bool count_only = false;
};
std::string Encode(const RangeRequest& request);

struct RangeResponse {
  Revision revision = 0;
  std::vector<KeyValue> items;
  std::int64_t version = 0;  // of the last item: how often its key has been written
  bool more = false;
  std::int64_t count = 0;  // of the range, whatever the limit

  static Result<RangeResponse> Decode(std::string_view bytes);
};

// The parts of a transaction: what must hold of one key, and what is done to one.
std::string CompareModRevision(std::string_view key, Revision revision);
std::string ComparePresent(std::string_view key);
std::string CompareVersion(std::string_view key, std::int64_t version);
std::string PutOperation(std::string_view key, std::string_view value, std::int64_t lease, bool previous);
std::string DeleteOperation(std::string_view key);  // answers what was there
std::string GetOperation(std::string_view key);

struct TxnRequest {
  std::vector<std::string> compare, success, failure;
};
std::string Encode(const TxnRequest& request);

struct TxnResponse {
  struct Item {
    std::optional<KeyValue> kv;  // of a get: what is there; else what was there before, if that was asked for
    std::int64_t version = 0;    // of kv
    bool changed = false;        // a put, or a deletion of something
  };
  Revision revision = 0;
  bool succeeded = false;
  std::vector<Item> items;  // one an operation of the branch that was taken

  static Result<TxnResponse> Decode(std::string_view bytes);
};

std::string CompactionRequest(Revision revision);

// What a client sends on the stream of its watches. Events come with what was there before.
std::string WatchCreateRequest(std::int64_t id, const KeyRange& range, Revision start);
std::string WatchCancelRequest(std::int64_t id);
std::string WatchProgressRequest();

struct WatchResponse {
  static constexpr std::int64_t kEveryWatch = -1;

  Revision revision = 0;
  std::int64_t id = 0;
  bool created = false, canceled = false;
  Revision compact_revision = 0;
  std::string cancel_reason;
  std::vector<Event> events;

  static Result<WatchResponse> Decode(std::string_view bytes);
};

std::string LeaseGrantRequest(std::int64_t seconds);
// The id of the lease.
Result<std::int64_t> DecodeLeaseGrant(std::string_view bytes);

struct MemberStatus {
  Revision revision = 0;
  std::string version;  // of the member's program
  std::int64_t db_size = 0, db_size_in_use = 0, db_size_quota = 0;
  std::uint64_t leader = 0;
  std::vector<std::string> errors;

  static Result<MemberStatus> Decode(std::string_view bytes);
};

}  // namespace flyball::store::etcd
