// The shape of a Go struct, as strict as Go's JSON decoder is with one: kustomizations and their
// configurations are checked against shapes, and refused in the decoder's words.
#pragma once

#include <span>
#include <string_view>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli::kustomize {

struct GoField;

struct GoShape {
  enum class Kind { kString, kBool, kInt, kList, kMap, kStruct };
  Kind kind;
  std::string_view type;             // "[]types.Image"
  const GoShape* element = nullptr;  // of kList and kMap; null: any
  std::span<const GoField> fields = {};
};

struct GoField {
  std::string_view name;  // in JSON
  const GoShape* shape;
  std::string_view embedded = {};  // the struct it is inherited from: "GeneratorArgs."
};

// Returns the value with the names of its members as the struct spells them: the decoder ignores case. Fails
// with the first problem in the order of the keys: `json: unknown field "x"`, or `json: cannot unmarshal
// number into Go struct field Image.images.newTag of type string`.
Result<json::Value> Conform(const json::Value& value, const GoShape& shape);

}  // namespace flyball::cli::kustomize
