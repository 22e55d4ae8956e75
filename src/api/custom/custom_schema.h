// CustomSchema: the schema of one version of a custom kind, made from the definition's openAPIV3Schema: the
// same TypeInfo tables the built-in kinds have, plus what only JSON Schema can say.
//
// Formats nobody knows are ignored, as upstream does.
//
// Thread-safe. The tables live as long as the CustomSchema.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/schema/schema.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "json/value.h"

namespace re2 {
class RE2;
}

namespace flyball::cel {
class Validator;
}

namespace flyball::api {

class CustomSchema {
 public:
  // Deeper schemas are refused: real ones have some 30 levels, and every level costs stack.
  static constexpr int kMaxDepth = 200;

  // `open_api_schema` is the openAPIV3Schema, or null for a version that has none (any object is then
  // accepted and kept). It is copied. Expects what ValidateCustomResourceDefinition lets through; of anything
  // else it makes what it can. BadRequest if it is nested too deeply.
  static Result<std::shared_ptr<const CustomSchema>> Build(const json::Value& open_api_schema);

  CustomSchema(const CustomSchema&) = delete;
  CustomSchema& operator=(const CustomSchema&) = delete;
  ~CustomSchema();

  // The whole object: apiVersion, kind and metadata (a built-in type) are always among the fields, which are
  // sorted by name at every level.
  const TypeInfo& type() const { return *root_; }
  const json::Value& schema() const { return schema_; }
  bool uses_cel() const { return uses_cel_; }
  // The rules of x-kubernetes-validations; null if there are none. Compiled when first asked for: most kinds
  // of a server are never written to.
  const cel::Validator* rules() const;
  // A pattern of this schema, compiled when it is first asked for; null if it is malformed.
  const re2::RE2* Pattern(std::string_view pattern) const;

 private:
  CustomSchema();
  class Builder;

  json::Value schema_;
  std::deque<TypeInfo> types_;
  std::deque<std::vector<FieldInfo>> fields_;
  std::deque<std::vector<std::string_view>> lists_;
  std::deque<std::string> texts_;
  const TypeInfo* root_ = nullptr;
  bool uses_cel_ = false;
  mutable Mutex patterns_mu_;
  mutable std::unordered_map<std::string, std::unique_ptr<re2::RE2>> patterns_
      FLYBALL_GUARDED_BY(patterns_mu_);
  mutable std::once_flag rules_once_;
  mutable std::unique_ptr<const cel::Validator> rules_;
};

// Go's words for why `pattern` is no regular expression ("error parsing regexp: missing closing ]: `[`");
// empty if it is one.
std::string PatternProblem(std::string_view pattern);

}  // namespace flyball::api
