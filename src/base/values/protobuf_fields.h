// Reading and writing small messages field by field, on protobuf_wire.h: for the messages of gRPC services.
// Confined to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/protobuf_wire.h"
#include "base/values/result.h"

namespace flyball {

// Calls take(reader) for each field; `take` reads it, or answers false for one it does not know.
// InternalError, "<what> is malformed", if the bytes are no message.
template <typename Take>
Status ReadFields(std::string_view bytes, std::string_view what, Take take) {
  WireReader reader(bytes);
  while (reader.NextField())
    if (!take(reader)) reader.Skip();
  if (!reader.ok()) return Unexpected(InternalError(std::string(what) + " is malformed"));
  return {};
}

// Readers of one field: false if it has another number or type.
inline bool TakeInt(WireReader& reader, std::uint32_t number, std::int64_t& out) {
  if (reader.number() != number || reader.type() != WireType::kVarint) return false;
  out = static_cast<std::int64_t>(reader.Varint());
  return true;
}

inline bool TakeBool(WireReader& reader, std::uint32_t number, bool& out) {
  std::int64_t value = 0;
  if (!TakeInt(reader, number, value)) return false;
  out = value != 0;
  return true;
}

inline bool TakeText(WireReader& reader, std::uint32_t number, std::string& out) {
  if (reader.number() != number || reader.type() != WireType::kBytes) return false;
  out = reader.Bytes();
  return true;
}

inline bool TakeTexts(WireReader& reader, std::uint32_t number, std::vector<std::string>& out) {
  if (reader.number() != number || reader.type() != WireType::kBytes) return false;
  out.emplace_back(reader.Bytes());
  return true;
}

// The bytes of a member are given to read(bytes), whose error replaces `status` if that has none yet.
template <typename Fn>
bool TakeMessage(WireReader& reader, std::uint32_t number, Status& status, Fn read) {
  if (reader.number() != number || reader.type() != WireType::kBytes) return false;
  const std::string_view bytes = reader.Bytes();
  if (status) status = read(bytes);
  return true;
}

// One entry of a map<string, string>.
inline bool TakeEntry(WireReader& reader, std::uint32_t number, std::map<std::string, std::string>& out) {
  if (reader.number() != number || reader.type() != WireType::kBytes) return false;
  std::string key, value;
  WireReader entry(reader.Bytes());
  while (entry.NextField())
    if (!TakeText(entry, 1, key) && !TakeText(entry, 2, value)) entry.Skip();
  out[std::move(key)] = std::move(value);
  return true;
}

// Writers that leave zero values out, as protobuf does.
inline void PutInt(WireWriter& writer, std::uint32_t number, std::int64_t value) {
  if (value != 0) writer.Varint(number, static_cast<std::uint64_t>(value));
}

inline void PutText(WireWriter& writer, std::uint32_t number, std::string_view text) {
  if (!text.empty()) writer.Bytes(number, text);
}

inline void PutTexts(WireWriter& writer, std::uint32_t number, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) writer.Bytes(number, text);
}

inline void PutEntries(WireWriter& writer, std::uint32_t number,
                       const std::map<std::string, std::string>& entries) {
  for (const auto& [key, value] : entries) {
    std::string entry;
    WireWriter inner(entry);
    PutText(inner, 1, key);
    PutText(inner, 2, value);
    writer.Bytes(number, entry);
  }
}

}  // namespace flyball
