// RuntimeConfig: which API versions are served (upstream: --runtime-config and the emulated version).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/schema/schema.h"
#include "base/values/result.h"

namespace flyball::server {

// Thread-compatible; a value.
class RuntimeConfig {
 public:
  // Everything there is at release 1.`minor`.
  explicit RuntimeConfig(int minor) : minor_(minor) {}

  // Reads `apps/v1=false,api/beta=false`. Keys are a group and version ("v1" is core), with a resource or
  // without, or api/all, api/ga, api/beta, api/alpha. Error: a key that is neither, a value that is no
  // boolean, or a version that this server does not have and that is to be served.
  Status Set(std::string_view text);

  bool Serves(const api::KindInfo& kind) const;

 private:
  Status SetOne(const std::string& key, bool value);

  int minor_;
  bool stable_ = true;                 // api/ga, api/all
  std::map<std::string, bool> given_;  // "apps/v1", "apps/v1/deployments"
};

}  // namespace flyball::server
