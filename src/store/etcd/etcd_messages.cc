#include "store/etcd/etcd_messages.h"

#include "base/values/protobuf_fields.h"
#include "store/log/keyspace.h"

namespace flyball::store::etcd {
namespace {

constexpr char kAnswer[] = "etcd's answer";

// ResponseHeader is field 1 of every response; its revision is what matters.
bool TakeHeader(WireReader& reader, Status& status, Revision& revision) {
  return TakeMessage(reader, 1, status, [&](std::string_view bytes) {
    return ReadFields(bytes, kAnswer, [&](WireReader& field) { return TakeInt(field, 3, revision); });
  });
}

Status ReadKeyValue(std::string_view bytes, KeyValue& kv, std::int64_t* version = nullptr) {
  std::string_view value;
  std::int64_t ignored = 0;
  FLYBALL_TRY(ReadFields(bytes, kAnswer, [&](WireReader& field) {
    if (field.number() == 5 && field.type() == WireType::kBytes) return value = field.Bytes(), true;
    return TakeText(field, 1, kv.key) || TakeInt(field, 2, kv.create_revision) ||
           TakeInt(field, 3, kv.mod_revision) || TakeInt(field, 4, version ? *version : ignored);
  }));
  kv.value = MakeBytes(std::string(value));
  return {};
}

Status ReadEvent(std::string_view bytes, Event& event) {
  std::int64_t type = 0;
  Status status;
  FLYBALL_TRY(ReadFields(bytes, kAnswer, [&](WireReader& field) {
    return TakeInt(field, 1, type) ||
           TakeMessage(field, 2, status, [&](auto kv) { return ReadKeyValue(kv, event.kv); }) ||
           TakeMessage(field, 3, status, [&](auto kv) { return ReadKeyValue(kv, event.previous.emplace()); });
  }));
  FLYBALL_TRY(status);
  event.type = type == 1 ? Event::Type::kDelete : Event::Type::kPut;
  if (event.type == Event::Type::kDelete) event.kv.value = nullptr;
  return {};
}

Status ReadRange(std::string_view bytes, RangeResponse& response) {
  Status status;
  FLYBALL_TRY(ReadFields(bytes, kAnswer, [&](WireReader& field) {
    return TakeHeader(field, status, response.revision) || TakeBool(field, 3, response.more) ||
           TakeInt(field, 4, response.count) || TakeMessage(field, 2, status, [&](auto kv) {
             return ReadKeyValue(kv, response.items.emplace_back(), &response.version);
           });
  }));
  return status;
}

// ResponseOp: 1 range, 2 put, 3 delete_range.
Status ReadOperationResponse(std::string_view bytes, TxnResponse::Item& item) {
  Status status;
  const auto range = [&](std::string_view body) -> Status {
    RangeResponse response;
    FLYBALL_TRY(ReadRange(body, response));
    item.version = response.version;
    if (!response.items.empty()) item.kv = std::move(response.items.front());
    return {};
  };
  const auto previous = [&](std::string_view body, std::uint32_t number) {
    std::int64_t deleted = 0;
    Status inner;
    const Status read = ReadFields(body, kAnswer, [&](WireReader& field) {
      return (number == 3 && TakeInt(field, 2, deleted)) ||
             TakeMessage(field, number, inner, [&](auto kv) { return ReadKeyValue(kv, item.kv.emplace()); });
    });
    item.changed = number == 2 || deleted > 0;
    return read ? inner : read;
  };
  FLYBALL_TRY(ReadFields(bytes, kAnswer, [&](WireReader& field) {
    return TakeMessage(field, 1, status, range) ||
           TakeMessage(field, 2, status, [&](auto body) { return previous(body, 2); }) ||
           TakeMessage(field, 3, status, [&](auto body) { return previous(body, 3); });
  }));
  return status;
}

// Compare.result and .target.
constexpr std::int64_t kEqual = 0, kGreater = 1;
constexpr std::int64_t kVersionTarget = 0, kModTarget = 2;

std::string Compare(std::string_view key, std::int64_t result, std::int64_t target, std::int64_t value) {
  std::string out;
  WireWriter writer(out);
  PutInt(writer, 1, result);
  PutInt(writer, 2, target);
  PutText(writer, 3, key);
  // A member of a oneof: written even if it is zero.
  writer.Varint(target == kVersionTarget ? 4 : 6, static_cast<std::uint64_t>(value));
  return out;
}

// A message that has one member, itself a message.
std::string Wrapped(std::uint32_t number, std::string_view message) {
  std::string out;
  WireWriter(out).Bytes(number, message);
  return out;
}

}  // namespace

KeyRange PrefixRange(std::string_view prefix) {
  const std::string no_key(1, '\0');  // as a key: before the first; as an end: after the last
  const std::string end = PrefixEnd(prefix);
  return {prefix.empty() ? no_key : std::string(prefix), end.empty() ? no_key : end};
}

std::string Encode(const RangeRequest& request) {
  std::string out;
  WireWriter writer(out);
  PutText(writer, 1, request.range.key);
  PutText(writer, 2, request.range.end);
  PutInt(writer, 3, request.limit);
  PutInt(writer, 4, request.revision);
  PutInt(writer, 9, request.count_only);
  return out;
}

Result<RangeResponse> RangeResponse::Decode(std::string_view bytes) {
  RangeResponse response;
  FLYBALL_TRY(ReadRange(bytes, response));
  return response;
}

std::string CompareModRevision(std::string_view key, Revision revision) {
  return Compare(key, kEqual, kModTarget, revision);
}
std::string ComparePresent(std::string_view key) {
  return Compare(key, kGreater, kModTarget, 0);
}
std::string CompareVersion(std::string_view key, std::int64_t version) {
  return Compare(key, kEqual, kVersionTarget, version);
}

std::string PutOperation(std::string_view key, std::string_view value, std::int64_t lease, bool previous) {
  std::string put;
  WireWriter writer(put);
  put.reserve(key.size() + value.size() + 32);
  PutText(writer, 1, key);
  PutText(writer, 2, value);
  PutInt(writer, 3, lease);
  PutInt(writer, 4, previous);
  return Wrapped(2, put);
}

std::string DeleteOperation(std::string_view key) {
  std::string deletion;
  WireWriter writer(deletion);
  PutText(writer, 1, key);
  PutInt(writer, 3, true);
  return Wrapped(3, deletion);
}

std::string GetOperation(std::string_view key) {
  return Wrapped(1, Encode(RangeRequest{.range = {std::string(key), ""}}));
}

std::string Encode(const TxnRequest& request) {
  std::string out;
  WireWriter writer(out);
  for (const std::string& compare : request.compare) writer.Bytes(1, compare);
  for (const std::string& operation : request.success) writer.Bytes(2, operation);
  for (const std::string& operation : request.failure) writer.Bytes(3, operation);
  return out;
}

Result<TxnResponse> TxnResponse::Decode(std::string_view bytes) {
  TxnResponse response;
  Status status;
  FLYBALL_TRY(ReadFields(bytes, kAnswer, [&](WireReader& field) {
    return TakeHeader(field, status, response.revision) || TakeBool(field, 2, response.succeeded) ||
           TakeMessage(field, 3, status,
                       [&](auto body) { return ReadOperationResponse(body, response.items.emplace_back()); });
  }));
  FLYBALL_TRY(status);
  return response;
}

std::string CompactionRequest(Revision revision) {
  std::string out;
  WireWriter writer(out);
  PutInt(writer, 1, revision);
  return out;
}

std::string WatchCreateRequest(std::int64_t id, const KeyRange& range, Revision start) {
  std::string create;
  WireWriter writer(create);
  PutText(writer, 1, range.key);
  PutText(writer, 2, range.end);
  PutInt(writer, 3, start);
  PutInt(writer, 6, true);
  PutInt(writer, 7, id);
  return Wrapped(1, create);
}

std::string WatchCancelRequest(std::int64_t id) {
  std::string cancel;
  WireWriter writer(cancel);
  PutInt(writer, 1, id);
  return Wrapped(2, cancel);
}

std::string WatchProgressRequest() {
  return Wrapped(3, "");
}

Result<WatchResponse> WatchResponse::Decode(std::string_view bytes) {
  WatchResponse response;
  Status status;
  FLYBALL_TRY(ReadFields(bytes, kAnswer, [&](WireReader& field) {
    return TakeHeader(field, status, response.revision) || TakeInt(field, 2, response.id) ||
           TakeBool(field, 3, response.created) || TakeBool(field, 4, response.canceled) ||
           TakeInt(field, 5, response.compact_revision) || TakeText(field, 6, response.cancel_reason) ||
           TakeMessage(field, 11, status,
                       [&](auto event) { return ReadEvent(event, response.events.emplace_back()); });
  }));
  FLYBALL_TRY(status);
  return response;
}

std::string LeaseGrantRequest(std::int64_t seconds) {
  std::string out;
  WireWriter writer(out);
  PutInt(writer, 1, seconds);
  return out;
}

Result<std::int64_t> DecodeLeaseGrant(std::string_view bytes) {
  std::int64_t id = 0;
  std::string error;
  FLYBALL_TRY(ReadFields(
      bytes, kAnswer, [&](WireReader& field) { return TakeInt(field, 2, id) || TakeText(field, 4, error); }));
  if (!error.empty()) return Unexpected(InternalError(error));
  return id;
}

Result<MemberStatus> MemberStatus::Decode(std::string_view bytes) {
  MemberStatus member;
  std::int64_t leader = 0;
  std::string error;
  Status status;
  FLYBALL_TRY(ReadFields(bytes, kAnswer, [&](WireReader& field) {
    if (TakeText(field, 8, error)) return member.errors.push_back(error), true;
    return TakeHeader(field, status, member.revision) || TakeText(field, 2, member.version) ||
           TakeInt(field, 3, member.db_size) || TakeInt(field, 4, leader) ||
           TakeInt(field, 9, member.db_size_in_use) || TakeInt(field, 12, member.db_size_quota);
  }));
  FLYBALL_TRY(status);
  member.leader = static_cast<std::uint64_t>(leader);
  return member;
}

}  // namespace flyball::store::etcd
