// Unstructured: an object of any kind as the JSON it came as. PartialObject: only its metadata, for informers
// that need no more. Both take part in everything templated on a kind's type.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "api/types/object_access.h"
#include "base/values/result.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball {

// Thread-compatible; copying copies the tree.
class Unstructured {
 public:
  Unstructured() = default;
  explicit Unstructured(json::Value value) : value_(std::move(value)) {}

  const json::Value& value() const { return value_; }
  json::Value& value() { return value_; }

  // Each is "" if absent.
  std::string_view api_version() const { return value_["apiVersion"].string_or(""); }
  std::string_view kind() const { return value_["kind"].string_or(""); }
  std::string_view name() const { return Meta("name"); }
  std::string_view ns() const { return Meta("namespace"); }
  std::string_view uid() const { return Meta("uid"); }
  std::string_view resource_version() const { return Meta("resourceVersion"); }
  bool deleting() const { return value_["metadata"].Find("deletionTimestamp") != nullptr; }
  ObjectKey key() const { return {std::string(ns()), std::string(name())}; }

 private:
  std::string_view Meta(std::string_view field) const { return value_["metadata"][field].string_or(""); }
  json::Value value_;
};

// The same, holding apiVersion, kind and metadata only: what the server sends when asked for
// PartialObjectMetadata.
class PartialObject : public Unstructured {
 public:
  using Unstructured::Unstructured;
};

inline MetaView MetaOf(const Unstructured& o) {
  return {o.ns(), o.name(), o.uid(), o.resource_version(), o.deleting()};
}

inline Status FromJson(const json::Value& value, Unstructured* out) {
  out->value() = value;
  return {};
}
inline Status FromJson(const json::Value& value, PartialObject* out) {
  json::Object kept;
  for (const char* member : {"apiVersion", "kind", "metadata"})
    if (const json::Value* v = value.Find(member)) kept.Append(member, *v);
  out->value() = json::Value(std::move(kept));
  return {};
}
inline json::Value ToJson(const Unstructured& object) {
  return object.value();
}

}  // namespace flyball
