// The subjects of a role binding, as flags name them.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli {

struct SubjectFlags {
  std::vector<std::string> users, groups;
  std::vector<std::string> service_accounts;  // namespace:name
};
// In the order users, groups, service accounts. `ns` stands for an empty namespace of an account; if it is
// empty too, that is an error.
Result<json::Array> SubjectsOf(const SubjectFlags& flags, const std::string& ns = {});

}  // namespace flyball::cli
