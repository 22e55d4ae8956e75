// /statusz and /flagz: what a component says of itself for debugging (upstream: component-base zpages).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "server/request/answer.h"

namespace flyball::server {

struct ComponentFacts {
  TimePoint started;
  std::map<std::string, std::string> flags;  // by name, without dashes
};

// The pages of kube-apiserver, as text/plain or as the structured kinds Statusz and Flagz of config.k8s.io.
// NotAcceptable for any other form, plain application/json too.
Result<Answer> StatusPage(const ComponentFacts& facts, const std::vector<std::string>& paths, TimePoint now,
                          std::string_view accept);
Result<Answer> FlagsPage(const ComponentFacts& facts, std::string_view accept);

}  // namespace flyball::server
