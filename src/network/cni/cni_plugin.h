// Running CNI plugins: one program after the other, of each of a network's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "network/cni/cni_config.h"

namespace flyball::network {

// What plugins are told about a pod.
struct CniTarget {
  std::string container_id, namespace_path;
  std::string args;             // CNI_ARGS
  json::Value port_mappings{};  // of the capability of that name; empty: none
};

// Thread-safe. Methods block until the plugins have ended. Errors say which plugin failed, in the words of
// libcni: plugin type="bridge" failed (add): what it says.
class CniPlugins {
 public:
  // `folders`: where the programs are.
  explicit CniPlugins(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  // ADD of each plugin. The result is the last one's. On failure some may have done their part: see Delete.
  Result<json::Value> Add(const CniConfig& config, const CniTarget& target) const;
  // CHECK of each, from the specification's version 0.4.0 on; `result` is that of Add.
  Status Check(const CniConfig& config, const CniTarget& target, const json::Value& result) const;
  // DEL of each, the last one first. `result` is null if it is not known. The first error, after all had
  // their turn.
  Status Delete(const CniConfig& config, const CniTarget& target, const json::Value& result) const;
  // GC of each, from version 1.1.0 on: nothing but these containers' is to stay.
  Status Collect(const CniConfig& config, const std::vector<std::string>& container_ids) const;

 private:
  Result<std::string> Find(const std::string& type) const;
  Result<json::Value> Run(const char* command, const CniConfig& config, const json::Value& plugin,
                          const CniTarget& target, json::Value input) const;

  const std::vector<std::string> folders_;
};

// The addresses of a pod by a result of any version of the specification, IPv4 first.
std::vector<std::string> AddressesOf(const json::Value& result);

}  // namespace flyball::network
