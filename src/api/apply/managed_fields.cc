#include "api/apply/managed_fields.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "api/apply/object_fields.h"
#include "api/values/go_text.h"
#include "api/values/time.h"

namespace flyball::api {
namespace {

using json::Value;
using Operation = ManagedEntry::Operation;

constexpr std::string_view kFieldsV1 = "FieldsV1";
constexpr std::string_view kAncientChanges = "ancient-changes";

// All of an entry but its fields.
Result<ManagedEntry> DecodeHeader(const Value& value, std::size_t index) {
  const std::string_view operation = value["operation"].string_or("");
  if (operation != "Apply" && operation != "Update") {
    return Unexpected(BadRequest("operation must be `Apply` or `Update`"));
  }
  ManagedEntry entry;
  entry.operation = operation == "Apply" ? Operation::kApply : Operation::kUpdate;
  entry.api_version = value["apiVersion"].string_or("");
  if (entry.api_version.empty()) return Unexpected(BadRequest("apiVersion must not be empty"));
  const std::string_view type = value["fieldsType"].string_or("");
  if (type != kFieldsV1) {
    const std::string where = " in managed fields entry " + std::to_string(index);
    return Unexpected(BadRequest(type.empty() ? "missing fieldsType" + where
                                              : "invalid fieldsType " + GoQuote(type) + where));
  }
  entry.manager = value["manager"].string_or("");
  entry.subresource = value["subresource"].string_or("");
  entry.time = value["time"].string_or("");
  return entry;
}

// In the order of Go's struct.
Value EncodeEntry(ManagedEntry&& entry) {
  json::Object out;
  out.Reserve(7);
  if (!entry.manager.empty()) out.Append("manager", entry.manager);
  out.Append("operation", entry.operation == Operation::kApply ? "Apply" : "Update");
  out.Append("apiVersion", entry.api_version);
  if (!entry.time.empty()) out.Append("time", entry.time);
  out.Append("fieldsType", kFieldsV1);
  out.Append("fieldsV1", std::move(entry.fields).ToFieldsV1());
  if (!entry.subresource.empty()) out.Append("subresource", entry.subresource);
  return out;
}

// Times are RFC 3339 in UTC: their text sorts as they do, and none sorts first.
auto EncodingOrder(const ManagedEntry& e) {
  return std::tie(e.operation, e.time, e.manager, e.api_version, e.subresource);
}

auto AgeOrder(const ManagedEntry& e) {
  return std::tie(e.time, e.manager, e.api_version, e.subresource);
}

}  // namespace

bool ManagedEntry::IsSameOwner(const ManagedEntry& other) const {
  return manager == other.manager && operation == other.operation && subresource == other.subresource &&
         (operation == Operation::kApply || api_version == other.api_version);
}

std::string ManagedEntry::Describe() const {
  std::string out = GoQuote(manager);
  if (!subresource.empty()) out.append(" with subresource ").append(GoQuote(subresource));
  if (operation == Operation::kUpdate) out.append(" using ").append(api_version);
  return out;
}

Result<ManagedFields> ManagedFields::Decode(const Value& managed_fields) {
  ManagedFields out;
  if (managed_fields.is_null()) return out;
  if (!managed_fields.is_array()) return Unexpected(BadRequest("managedFields must be a list"));
  std::size_t index = 0;
  for (const Value& value : managed_fields.as_array()) {
    FLYBALL_ASSIGN(ManagedEntry entry, DecodeHeader(value, index++));
    if (const Value* fields = value.Find("fieldsV1"); fields != nullptr && !fields->is_null()) {
      FLYBALL_ASSIGN(entry.fields, OwnedFields::Decode(*fields));
    }
    out.Set(std::move(entry));
  }
  return out;
}

ManagedFields ManagedFields::Stored(Value managed_fields) {
  ManagedFields out;
  if (!managed_fields.is_array()) return out;
  out.entries_.reserve(managed_fields.size() + 1);  // most writes add at most one
  for (Value& value : managed_fields.as_array()) {
    auto entry = DecodeHeader(value, 0);
    if (!entry) continue;
    if (Value* fields = value.Find("fieldsV1")) entry->fields = OwnedFields::Stored(std::move(*fields));
    out.Set(std::move(*entry));
  }
  return out;
}

Value ManagedFields::Encode() && {
  if (entries_.empty()) return {};
  std::sort(entries_.begin(), entries_.end(),
            [](const ManagedEntry& a, const ManagedEntry& b) { return EncodingOrder(a) < EncodingOrder(b); });
  json::Array out;
  out.reserve(entries_.size());
  for (ManagedEntry& entry : entries_) out.push_back(EncodeEntry(std::move(entry)));
  return out;
}

ManagedEntry* ManagedFields::Find(const ManagedEntry& owner) {
  for (ManagedEntry& entry : entries_) {
    if (entry.IsSameOwner(owner)) return &entry;
  }
  return nullptr;
}

void ManagedFields::Set(ManagedEntry entry) {
  if (ManagedEntry* found = Find(entry)) {
    *found = std::move(entry);
  } else {
    entries_.push_back(std::move(entry));
  }
}

void ManagedFields::DropEmpty() {
  std::erase_if(entries_, [](const ManagedEntry& entry) { return entry.fields.empty(); });
}

void ManagedFields::CapUpdaters() {
  const auto updates = [](const ManagedEntry& entry) { return entry.operation == Operation::kUpdate; };
  if (std::count_if(entries_.begin(), entries_.end(), updates) <= std::ptrdiff_t{kMaxUpdaters}) return;
  std::vector<ManagedEntry> updaters;
  std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(updaters), updates);
  std::sort(updaters.begin(), updaters.end(),
            [](const ManagedEntry& a, const ManagedEntry& b) { return AgeOrder(a) < AgeOrder(b); });
  std::size_t left = updaters.size();
  std::map<std::string, ManagedEntry> first_of;  // by version: fields of different versions do not mix
  for (ManagedEntry& updater : updaters) {
    if (left <= kMaxUpdaters) return;
    const auto [first, is_first] = first_of.try_emplace(updater.api_version, updater);
    if (is_first) continue;  // alone, it has nothing to be merged with yet
    const ManagedEntry owner{.manager = std::string(kAncientChanges), .api_version = updater.api_version};
    ManagedEntry* bucket = Find(owner);
    if (bucket == nullptr) {
      bucket = Find(first->second);
      bucket->manager = owner.manager;
      bucket->subresource.clear();
    }
    if (bucket->IsSameOwner(updater)) continue;
    bucket->fields.Add(updater.fields.set());
    bucket->time = updater.time;
    std::erase_if(entries_, [&](const ManagedEntry& e) { return e.IsSameOwner(updater); });
    --left;
  }
}

}  // namespace flyball::api
