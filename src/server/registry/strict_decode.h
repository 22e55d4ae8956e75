// Decoding with upstream's strict errors in upstream's order. They depend on how an object came: JSON is
// judged as it is written; YAML after Go has sorted it; the result of a patch by what the patch touched; a
// custom object by one check after the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/custom/custom_kind.h"
#include "api/schema/decode.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/request/request_scope.h"

namespace flyball::server {

struct ParsedObject {
  json::Value value;
  std::vector<std::string> duplicates;     // paths, if it was JSON
  std::vector<std::string> strict_errors;  // of what it was made from
  bool sort_errors = false;                // those of the object; otherwise as its members come
  std::vector<std::string> yaml_errors{};
  std::string_view text{};  // what it was parsed from, if that is JSON
};

// What the object is to be.
struct ObjectType {
  const api::TypeInfo& type;
  const std::string& api_version;
  std::string_view kind;
  const api::CustomKind* custom = nullptr;
};

// Sorts the members of every object by name, as Go's encoder writes what it made of YAML.
void SortAllKeys(json::Value& root);

// Makes parsed.value canonical and of the type. `context` gets the strict errors. BadRequest if it is not of
// the type.
Status DecodeParsed(const RequestScope& scope, const ObjectType& type, ParsedObject& parsed,
                    api::DecodeContext& context);

}  // namespace flyball::server
