// Short ways to read a JSON Schema node of a CustomResourceDefinition. Internal to its validation.
#pragma once

#include <string_view>

#include "json/value.h"

namespace flyball::api {

inline bool SchemaSays(const json::Value& node, std::string_view keyword) {
  return node[keyword].bool_or(false);
}

inline bool PreservesUnknownFields(const json::Value& node) {
  return SchemaSays(node, "x-kubernetes-preserve-unknown-fields");
}

inline bool IsIntOrStringNode(const json::Value& node) {
  return SchemaSays(node, "x-kubernetes-int-or-string");
}

inline bool IsEmbeddedResource(const json::Value& node) {
  return SchemaSays(node, "x-kubernetes-embedded-resource");
}

inline std::string_view TypeOf(const json::Value& node) {
  return node["type"].string_or("");
}

}  // namespace flyball::api
