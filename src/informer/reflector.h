// Reflector: keeps a DeltaQueue fed with everything that happens to one kind: lists, then watches, for ever
// (upstream: client-go's Reflector).
//
// Flow: kListing -> kWatching -> (stream ends) kWatching -> ... ; 410 -> kListing; errors -> kWaiting, then
// the state that failed. With streaming lists: kStreamingList -> kWatching on the same stream.
// Guarantees: the queue sees a Replace before any other change; after it, changes in the server's order; the
// version watched from never goes back except through a Replace. Assumes: resource versions of one kind are
// ordered decimal numbers. Nothing here blocks; everything runs on one strand.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "client/client.h"
#include "informer/delta_queue.h"
#include "informer/object_type.h"

namespace flyball {

struct ReflectorOptions {
  KindRef kind{};
  std::string ns{};  // empty: all
  std::string label_selector{}, field_selector{};
  // Ask for the initial list as a stream of events first (sendInitialEvents); falls back to a list when the
  // server refuses.
  bool streaming_list = false;
  // Objects come without metadata.managedFields: often half of what they are made of.
  bool drop_managed_fields = false;
  // Changes an object before it is stored: to drop fields nobody reads. Optional.
  std::function<void(void* object)> transform{};
};

// Thread-safe.
class Reflector {
 public:
  enum class State { kIdle, kListing, kStreamingList, kWatching, kWaiting, kStopped };

  // The queue must outlive the reflector's Stop callback. `type` and the client's runtime too.
  Reflector(Client client, const ObjectType& type, ReflectorOptions options, DeltaQueue& queue);
  ~Reflector();  // as Stop, unless that was called

  void Start();
  // Cancels what is under way; nothing reaches the queue after `stopped` has been called (on the executor).
  void Stop(Closure stopped = nullptr);
  // The queue has drained below its high-water mark: go on reading.
  void ResumeReading();

  State state() const;
  std::string last_resource_version() const;
  // Lists and watches begun so far: for tests and metrics.
  std::size_t lists() const;
  std::size_t watches() const;

 private:
  class Machine;
  const std::shared_ptr<Machine> machine_;
  std::atomic<bool> stop_called_ = false;
};

}  // namespace flyball
