// What label keys and values may look like (upstream: util/validation IsQualifiedName, IsValidLabelValue).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flyball::api {

// What is wrong, in upstream's words; empty if nothing is.
std::vector<std::string> LabelKeyProblems(std::string_view key);
std::vector<std::string> LabelValueProblems(std::string_view value);

// `path: Invalid value: "value": problem; problem`.
std::string InvalidValueText(std::string_view path, std::string_view value,
                             const std::vector<std::string>& problems);

}  // namespace flyball::api
