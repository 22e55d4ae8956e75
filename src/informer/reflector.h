// Reflector: feeds a DeltaQueue with all changes of one kind. It lists, then watches, forever (upstream:
// client-go's Reflector).
//
// Flow: kListing -> kWatching -> (stream ends) kWatching -> ... ; 410 -> kListing; errors -> kWaiting, then
// the state that failed. With streaming lists: kStreamingList -> kWatching on the same stream.
// Guarantees: the queue sees a Replace before any other change, and after it changes in the server's order.
// The version to watch from never goes back except through a Replace.
// Assumes that resource versions of one kind are ordered decimal numbers. Nothing here blocks; everything
// runs on one strand.
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
  // Requests the initial list as a stream of events first (sendInitialEvents); falls back to a list if the
  // server refuses.
  bool streaming_list = false;
  // Objects omit metadata.managedFields, which are often half of their size.
  bool drop_managed_fields = false;
  // Changes an object before it is stored, for example to drop fields that nobody reads. Optional.
  std::function<void(void* object)> transform{};
};

// Thread-safe.
class Reflector {
 public:
  enum class State { kIdle, kListing, kStreamingList, kWatching, kWaiting, kStopped };

  // The queue must outlive the reflector's Stop callback. So must `type` and the client's runtime.
  Reflector(Client client, const ObjectType& type, ReflectorOptions options, DeltaQueue& queue);
  ~Reflector();  // stops, unless Stop was called

  void Start();
  // Cancels running requests. Nothing reaches the queue after `stopped` has been called (on the executor).
  void Stop(Closure stopped = nullptr);
  // Call when the queue has drained below its high-water mark: resumes reading.
  void ResumeReading();

  State state() const;
  std::string last_resource_version() const;
  // The number of lists and watches started so far, for tests and metrics.
  std::size_t lists() const;
  std::size_t watches() const;

 private:
  class Machine;
  const std::shared_ptr<Machine> machine_;
  std::atomic<bool> stop_called_ = false;
};

}  // namespace flyball
