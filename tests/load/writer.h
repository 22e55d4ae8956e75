// Writer: one client that does everything at random: writes of all kinds, reads in all forms, definitions
// that come and go, and requests that must be refused. Confined to its thread.
#pragma once

#include <string>

#include "base/run/random.h"
#include "client/rest_client.h"
#include "load/tally.h"

namespace flyball::load {

// The label of every object that watchers follow.
inline constexpr std::string_view kLoadLabel = "load=yes";
inline constexpr int kNamespaces = 3;
std::string NamespaceName(std::uint64_t i);

class Writer {
 public:
  Writer(int id, RestClient& client, Tally& tally, std::uint64_t seed)
      : id_(id), client_(client), tally_(tally), random_(seed) {}

  // One thing, chosen at random.
  void Step();

 private:
  // Sends and counts.
  Result<RestResponse> Ask(const std::string& what, RestRequest request);
  void Send(const std::string& what, RestRequest request);
  std::string Path(std::string_view resource, bool with_name);
  std::string ConfigMapBody(const std::string& name, std::string_view version = {});
  void Create();
  void Update();
  void Patch();
  void Apply();
  void Remove();
  void Read();
  void ReadDocuments();
  void Workload();
  void Refused();
  void Define();

  const int id_;
  RestClient& client_;
  Tally& tally_;
  Random random_;
  int definitions_ = 0;
};

}  // namespace flyball::load
