// FieldSpec: a field of some kinds that a transformer changes (upstream: types.FieldSpec and the filter
// fieldspec).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/kustomize/resource/resource_id.h"
#include "json/value.h"

namespace flyball::cli::kustomize {

struct FieldSpec {
  Gvk gvk;  // empty parts stand for any
  std::string
      path;  // "spec/template/spec/containers[]/image": lists are walked through; \/ is a slash in a name
  bool create = false;
};
using FieldSpecs = std::vector<FieldSpec>;

// Adds those that are not there yet. Fails if one is there that differs in `create`.
Status MergeFieldSpecs(FieldSpecs& into, const FieldSpecs& from);

// What a missing field is created as.
enum class CreateAs { kNothing, kScalar, kMap };
using FieldChange = std::function<Status(json::Value&)>;

// Calls `change` for each value the path leads to, if the object is of the right kind. Creates missing fields
// only if the spec and `create` both say so. Fails if the path leads into a scalar, or if `change` fails.
Status ChangeField(json::Value& object, const FieldSpec& spec, CreateAs create, const FieldChange& change);
// The same for each of them in turn.
Status ChangeFields(json::Value& object, const FieldSpecs& specs, CreateAs create, const FieldChange& change);

// Sets the value itself. Fails if it is a map or a list.
FieldChange SetScalar(json::Value value);
// Sets a member of a map. Fails if the value is something else.
FieldChange SetMember(std::string key, json::Value value);

// Splits a path at the delimiter, except where a backslash precedes it.
std::vector<std::string> SplitPath(std::string_view path, char delimiter);
// "MappingNode", "SequenceNode" or "ScalarNode".
std::string NodeKindName(const json::Value& value);
// "wrong node kind: expected ScalarNode but got MappingNode: ..."
std::string WrongKindText(const std::string& expected, const json::Value& actual);

}  // namespace flyball::cli::kustomize
