#include "cli/kubectl/change/pod_spec.h"

#include <utility>

namespace flyball::cli {

const json::Value* PodSpecIn(const json::Value& object) {
  const std::string_view kind = object["kind"].string_or("");
  const json::Value* spec = kind == "Pod" ? object.FindPath({"spec"})
                            : kind == "CronJob"
                                ? object.FindPath({"spec", "jobTemplate", "spec", "template", "spec"})
                                : object.FindPath({"spec", "template", "spec"});
  return spec && std::as_const(*spec)["containers"].is_array() ? spec : nullptr;
}

json::Value* PodSpecIn(json::Value& object) {
  return const_cast<json::Value*>(PodSpecIn(std::as_const(object)));
}

bool NameMatches(std::string_view pattern, std::string_view name) {
  return pattern == "*" || pattern == name;
}

}  // namespace flyball::cli
