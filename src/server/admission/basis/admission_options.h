// Which admission plugins run, and how they are configured.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace flyball::server {

// How long pods stay on a node that is not ready or unreachable, if they do not say it.
struct TolerationSeconds {
  std::int64_t not_ready = 300, unreachable = 300;
};

struct AdmissionOptions {
  std::set<std::string> enable, disable;
  std::string config_file;  // an AdmissionConfiguration; empty: none
  TolerationSeconds toleration_seconds;
};

}  // namespace flyball::server
