// Parses and writes YAML, with the types of Kubernetes' YAML library (sigs.k8s.io/yaml: YAML 1.1 scalars,
// converted to JSON).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::json {

// Parses one document. `on`/`yes` are booleans, 0777 is octal, dates stay strings, keys become strings,
// anchors and merge keys are expanded (with a limit: a "billion laughs" document is an error). Each
// duplicate key is reported as go-yaml does: `line 9: key "foo" already set in map`; the last value wins.
Result<Value> ParseYaml(std::string_view text, std::vector<std::string>* duplicates = nullptr);
// Such reports, all in one: "yaml: unmarshal errors:\n  line 9: ...".
std::string YamlErrorsText(const std::vector<std::string>& errors);
// Parses every document of a stream and omits empty ones.
Result<std::vector<Value>> ParseYamlStream(std::string_view text);
// Writes block style, with keys sorted as kubectl -o yaml prints them and strings quoted only where needed.
// Ends with a newline.
std::string WriteYaml(const Value& value);

}  // namespace flyball::json
