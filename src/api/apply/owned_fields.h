// OwnedFields: the field set of one managedFields entry, decoded only when it has to change. Most writes
// leave most owners alone, and then their fieldsV1 is passed on as it was read.
#pragma once

#include <utility>
#include <variant>

#include "api/apply/field_set.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// A value. Thread-compatible.
class OwnedFields {
 public:
  OwnedFields() = default;
  OwnedFields(FieldSet set) : state_(std::move(set)) {}  // NOLINT(google-explicit-constructor)

  // Takes a fieldsV1 document that was checked when it was stored; a malformed one owns nothing.
  static OwnedFields Stored(json::Value fields_v1);
  // Checks it first.
  static Result<OwnedFields> Decode(const json::Value& fields_v1);

  const FieldSet& set();
  bool empty() const;
  bool Intersects(const FieldSet& fields) const;
  // True if every one of the fields is owned.
  bool Contains(const FieldSet& fields) const;
  void Add(const FieldSet& fields);
  void Remove(const FieldSet& fields);

  json::Value ToFieldsV1() &&;

 private:
  std::variant<FieldSet, json::Value> state_;
};

}  // namespace flyball::api
