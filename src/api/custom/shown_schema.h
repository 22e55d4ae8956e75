// How kube-apiserver shows a schema in a message: as the struct of its internal type, with every field.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json/value.h"

namespace flyball::api {

// A keyword of a schema, and the field of upstream's internal type (apiextensions.JSONSchemaProps).
struct SchemaField {
  enum class Kind {
    kText,
    kFlag,
    kPlain,
    kSchema,
    kSchemas,
    kSchemaMap,
    kItems,
    kOrBool,
    kDependencies,
    kDocs,
    kRules
  };
  std::string_view keyword, field;
  Kind kind;

  // Whether the schema sets it to anything but Go's zero value.
  bool IsSet(const json::Value& schema) const;
};

// In upstream's order.
std::span<const SchemaField> SchemaFields();

json::Value ShownSchema(const json::Value& schema);

}  // namespace flyball::api
