// StagePlayer: makes simulated objects of one kind go on as their Stages say (KWOK's pod and node
// controllers).
//
// Flow: each time an object changes, the Stage that is next for it is chosen, its delay is waited for, and
// then it is played: event, finalizers, then deletion or patches. A change before that chooses anew; an
// object that matches no Stage stays as it is. What the server cannot do for the moment is tried again, a
// second later and then ever later; what it refuses is logged and left until the object changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/run/executor.h"
#include "client/client.h"
#include "client/unstructured.h"
#include "controller/events/event_recorder.h"
#include "node/stages/stage_functions.h"
#include "node/stages/stage_set.h"

namespace flyball::node {

// Confined to the strand. Owned by shared_ptr; calls under way hold weak references.
class StagePlayer : public std::enable_shared_from_this<StagePlayer> {
 public:
  using ObjectPtr = std::shared_ptr<const Unstructured>;
  struct Options {
    KindRef kind;
    std::shared_ptr<const StageSet> stages;
    StageNode node;
    std::string component = "kwok";  // the source of its events
  };
  StagePlayer(Client client, Strand strand, Options options);

  // Versions that are older than what it knows already are ignored.
  void Changed(const ObjectPtr& object);
  void Gone(const ObjectPtr& object);
  // No more writes.
  void Stop();

 private:
  // Where an object is between two Stages.
  struct Part {
    ObjectPtr object;  // as last seen
    const Stage* stage = nullptr;
    TimerId timer = kNoTimer;
    int failures = 0;
    bool playing = false;    // its writes are under way
    bool immediate = false;  // plays on even if nothing has changed
    std::string begun_with;  // the version that is played
  };
  // The writes of one Stage that are still to be done, in order.
  struct Writes {
    std::string uid;
    std::vector<ObjectPatch> patches;
    bool deletes = false;
    std::size_t next = 0;
  };

  void Choose(Part& part);
  void Arm(const std::string& uid, Duration delay);
  void Play(const std::string& uid);
  void Write(const std::shared_ptr<Writes>& writes);
  void Written(const std::shared_ptr<Writes>& writes, const Result<json::Value>& result);
  void Failed(Part& part, const Error& error);
  void Played(Part& part);
  Closure OnStrand(std::function<void(StagePlayer&)> fn);

  const Client client_;
  Strand strand_;
  const Options options_;
  const StageFunctions functions_;
  EventRecorder recorder_;
  std::map<std::string, Part> parts_;  // by UID
  bool stopped_ = false;
};

}  // namespace flyball::node
