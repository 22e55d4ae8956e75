// Writes KYAML: YAML that does not depend on white space, with braces, quoted strings and trailing commas.
#pragma once

#include <string>

#include "json/value.h"

namespace flyball::json {

// One document with its separator, as kubectl -o kyaml prints it (sigs.k8s.io/yaml/kyaml): members in their
// order, keys without quotes where no parser takes them for something else, texts of several lines folded.
// Ends with a newline. Keys with letters beyond ASCII are quoted, which is more than Kubernetes does.
std::string WriteKyaml(const Value& value);

}  // namespace flyball::json
