// The configuration of a network, as CNI plugins have it in /etc/cni/net.d.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::network {

// A list of plugins that make one network, one after the other. A file with one plugin is a list of one.
struct CniConfig {
  std::string name, version;  // of the specification
  std::vector<json::Value> plugins;
  bool disable_check = false, disable_gc = false;
};

// BadRequest if it is none.
Result<CniConfig> ParseCniConfig(const json::Value& file);
// The first of the folder's files (.conflist, .conf and .json, by their names) that is one: as container
// runtimes choose. NotFound, in their words, if there is none.
Result<CniConfig> ReadCniConfig(const std::string& folder);
json::Value ToJson(const CniConfig& config);

// Whether the specification's version, "1.0.0", is that one or a later one.
bool CniVersionAtLeast(const std::string& version, const std::string& least);

}  // namespace flyball::network
