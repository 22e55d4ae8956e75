// Watcher: keeps a copy of every labelled ConfigMap by list and watch, the way an informer does, with streams
// that end and begin again all the time. Every event must fit what came before it. Confined to its thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/run/random.h"
#include "client/rest_client.h"
#include "client/watch.h"
#include "load/tally.h"

namespace flyball::load {

class Watcher {
 public:
  Watcher(std::string name, RestClient& client, Tally& tally, std::uint64_t seed)
      : name_(std::move(name)), client_(client), tally_(tally), random_(seed) {}

  // Lists if it has to, then follows one stream until it ends or is dropped in the middle.
  void Round();

  using State = std::map<std::string, std::string>;  // namespace/name → resourceVersion
  const State& state() const { return state_; }
  // What a list says now. False if it could not be read.
  static bool List(RestClient& client, Tally& tally, State& state, std::string& version);

 private:
  void Take(const WatchEvent& event);
  void Wrong(const std::string& what, const std::string& key);

  const std::string name_;
  RestClient& client_;
  Tally& tally_;
  Random random_;
  State state_;
  std::string version_;  // empty: list first
};

}  // namespace flyball::load
