// YAML in and out, typed as Kubernetes' YAML library (sigs.k8s.io/yaml: YAML 1.1 scalars, converted to JSON)
// types it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::json {

// One document. `on`/`yes` are booleans, 0777 is octal, dates stay strings, keys become strings, anchors and
// merge keys are expanded (bounded: a "billion laughs" document is an error). Duplicate keys are reported as
// in ParseOptions.
Result<Value> ParseYaml(std::string_view text, std::vector<std::string>* duplicates = nullptr);
// Every document of a stream, empty ones left out.
Result<std::vector<Value>> ParseYamlStream(std::string_view text);
// Block style, keys sorted as kubectl -o yaml prints them, strings quoted only where needed, ends with a
// newline.
std::string WriteYaml(const Value& value);

}  // namespace flyball::json
