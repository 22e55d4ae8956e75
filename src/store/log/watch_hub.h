// WatchHub: who watches what, and the delivery of events to them.
//
// A new watch first catches up from the history, a bounded slice at a time, and is live from the moment it
// has seen all that is published. Both happen on the delivery thread (the one thread that calls the methods
// marked so), hence there is neither gap nor duplicate between the two.
//
// Thread-safe: Add and the destruction of the Watch it returns. Everything else: confined to the delivery
// thread.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run/mutex.h"
#include "store/log/history.h"
#include "store/log/watcher.h"
#include "store/store.h"

namespace flyball::store {

class WatchHub {
 public:
  ~WatchHub();

  // The watch is seen by the delivery thread at its next Admit.
  std::unique_ptr<Watch> Add(std::string prefix, Revision after, WatchSink* sink);

  // Delivery thread: takes in new watches. `published` is the revision up to which events have been
  // delivered.
  void Admit(Revision published);
  // Delivery thread: one slice for one watch that is behind. False if there is none.
  bool CatchUp(History& history, Revision published);
  // Delivery thread: gives events, in revision order, to all live watches.
  void Deliver(std::vector<Event> events);
  // Delivery thread: tells all live watches how far they are.
  void Progress(Revision revision);

 private:
  struct Group {
    std::vector<std::shared_ptr<Watcher>> watchers;
    std::vector<Event> events;  // of the delivery being made
  };

  void MakeLive(std::shared_ptr<Watcher> watcher, Revision revision);
  void DeliverTo(Group& group);

  Mutex mu_;
  std::vector<std::shared_ptr<Watcher>> new_ FLYBALL_GUARDED_BY(mu_);

  std::deque<std::shared_ptr<Watcher>> behind_;
  std::map<std::string, Group, std::less<>> live_;  // by prefix
};

}  // namespace flyball::store
