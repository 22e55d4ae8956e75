#include "server/registry/strict_decode.h"

#include <algorithm>

#include "api/custom/custom_object.h"
#include "api/schema/decode_repeated.h"
#include "json/parse_repeated.h"
#include "json/yaml/yaml.h"

namespace flyball::server {
namespace {

// What was wrong before the object was looked at: in what it was made from, or in its YAML, which is one
// error that lists them all, but a warning for each.
std::vector<std::string> EarlierErrors(const RequestScope& scope, ParsedObject& parsed) {
  std::vector<std::string> errors = std::move(parsed.strict_errors);
  if (!parsed.yaml_errors.empty() && scope.field_validation == FieldValidation::kStrict)
    errors.push_back(json::YamlErrorsText(parsed.yaml_errors));
  else
    for (auto& error : parsed.yaml_errors) errors.push_back(std::move(error));
  return errors;
}

void SetType(const ObjectType& type, json::Value& value) {
  value["apiVersion"] = type.api_version;
  value["kind"] = type.kind;
}

Status DecodeTyped(const ObjectType& type, ParsedObject& parsed, api::DecodeContext& context) {
  const std::size_t earlier = context.strict_errors.size();
  if (!parsed.duplicates.empty()) {
    FLYBALL_ASSIGN(parsed.value, json::ParseRepeated(parsed.text));
    SetType(type, parsed.value);
    return api::DecodeRepeated(type.type, parsed.value, context);
  }
  FLYBALL_TRY(api::Decode(type.type, parsed.value, context));
  if (parsed.sort_errors)
    std::sort(context.strict_errors.begin() + static_cast<std::ptrdiff_t>(earlier),
              context.strict_errors.end());
  return {};
}

// Upstream reads a custom object without its schema first, which finds duplicates; then its metadata, then
// what the schema lacks, then the metadata of embedded objects. Each of them sorts what it finds.
Status DecodeCustom(const ObjectType& type, ParsedObject& parsed, api::DecodeContext& context) {
  auto& errors = context.strict_errors;
  context.AddDuplicates(parsed.duplicates);
  const auto sort_from = [&](std::size_t first) {
    std::sort(errors.begin() + static_cast<std::ptrdiff_t>(first), errors.end());
  };
  const std::size_t duplicates = errors.size();
  FLYBALL_TRY(api::Decode(type.type, parsed.value, context));
  sort_from(duplicates);
  const std::size_t metadata = errors.size();
  api::PruneCustomObject(type.custom->schema(), parsed.value, &errors);
  sort_from(metadata);
  const std::size_t pruned = errors.size();
  const std::string problem = api::DecodeEmbeddedResources(type.custom->schema(), parsed.value, &errors);
  sort_from(pruned);
  if (!problem.empty()) return Unexpected(BadRequest(problem));
  return {};
}

}  // namespace

void SortAllKeys(json::Value& root) {
  std::vector<json::Value*> left{&root};
  while (!left.empty()) {
    json::Value& value = *left.back();
    left.pop_back();
    if (value.is_array()) {
      for (auto& element : value.as_array()) left.push_back(&element);
    } else if (value.is_object()) {
      value.as_object().SortKeys();
      for (auto& [key, member] : value.as_object()) left.push_back(&member);
    }
  }
}

Status DecodeParsed(const RequestScope& scope, const ObjectType& type, ParsedObject& parsed,
                    api::DecodeContext& context) {
  context.strict_errors = EarlierErrors(scope, parsed);
  SetType(type, parsed.value);
  return type.custom ? DecodeCustom(type, parsed, context) : DecodeTyped(type, parsed, context);
}

}  // namespace flyball::server
