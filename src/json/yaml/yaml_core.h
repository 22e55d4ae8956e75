// Parses YAML as go-yaml v3 reads it: what kustomize does with resources.
#pragma once

#include <string_view>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::json {

// Parses one document. As ParseYaml() of yaml.h, except that only true and false are booleans: `on`, `yes`
// and `n` are strings.
Result<Value> ParseYamlCore(std::string_view text);

}  // namespace flyball::json
