#include "server/forward/pod_ready.h"

namespace flyball::server {

bool IsPodReady(const json::Value& pod) {
  if (!pod["status"]["conditions"].is_array()) return false;
  for (const auto& condition : pod["status"]["conditions"].as_array())
    if (condition["type"].string_or("") == "Ready") return condition["status"].string_or("") == "True";
  return false;
}

}  // namespace flyball::server
