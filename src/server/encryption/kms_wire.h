// Annotations, a map<string, bytes>, in the protobuf messages of KMS plugins and of stored objects.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/values/protobuf_wire.h"

namespace flyball::server {

using KmsAnnotations = std::map<std::string, std::string>;

// Appends each as a field of this number: a message of key and value.
inline void WriteAnnotations(WireWriter& writer, std::uint32_t number, const KmsAnnotations& annotations) {
  for (const auto& [key, value] : annotations) {
    std::string entry;
    WireWriter(entry).Bytes(1, key);
    WireWriter(entry).Bytes(2, value);
    writer.Bytes(number, entry);
  }
}

// Adds the one in such a field.
inline void ReadAnnotation(std::string_view field, KmsAnnotations& annotations) {
  std::string key, value;
  WireReader reader(field);
  while (reader.NextField()) {
    if (reader.type() == WireType::kBytes && reader.number() == 1)
      key = reader.Bytes();
    else if (reader.type() == WireType::kBytes && reader.number() == 2)
      value = reader.Bytes();
    else
      reader.Skip();
  }
  annotations[key] = value;
}

}  // namespace flyball::server
