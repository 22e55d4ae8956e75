#include "cli/kubectl/session/subjects.h"

#include "base/values/ascii.h"
#include "cli/command/error_text.h"

namespace flyball::cli {

Result<json::Array> SubjectsOf(const SubjectFlags& flags, const std::string& ns) {
  json::Array subjects;
  const auto add = [&](const char* kind, const std::string& name) {
    subjects.emplace_back(
        json::Object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", name}});
  };
  for (const std::string& user : flags.users) add("User", user);
  for (const std::string& group : flags.groups) add("Group", group);
  for (const std::string& account : flags.service_accounts) {
    const auto parts = SplitText(account, ':');
    const bool whole = parts.size() == 2 && !parts[1].empty() && !(parts[0].empty() && ns.empty());
    if (!whole) return Unexpected(LocalError("serviceaccount must be <namespace>:<name>"));
    subjects.emplace_back(json::Object{
        {"kind", "ServiceAccount"}, {"name", parts[1]}, {"namespace", parts[0].empty() ? ns : parts[0]}});
  }
  return subjects;
}

}  // namespace flyball::cli
