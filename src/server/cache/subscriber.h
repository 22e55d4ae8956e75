// Subscriber: one watch, between the watch cache that offers changes and the connection that sends them; and
// the index that finds whom a change concerns.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/run/mutex.h"
#include "base/values/unique_function.h"
#include "server/cache/change.h"
#include "server/cache/object_filter.h"

namespace flyball::server {

// A subscription's buffer. Thread-safe.
class Subscriber {
 public:
  struct Item {
    ChangePtr change;  // null: a bookmark
    ChangeType type = ChangeType::kAdded;
    store::Revision revision = 0;
  };
  // More than this many undelivered changes, or changes of so many bytes, close the subscription: the client
  // is too slow and must list again. What there was to catch up with at the start does not count.
  static constexpr std::size_t kMaxQueued = 10000;
  static constexpr std::size_t kMaxQueuedBytes = 64u << 20;

  explicit Subscriber(ObjectFilter filter) : filter_(std::move(filter)) {}

  // Takes everything queued. If there is nothing, `wake` is called once when there is (or when closed), on
  // any thread, and false is returned.
  bool Take(std::vector<Item>& out, Closure wake);
  bool closed() const;
  // Nothing more is queued; wakes the reader. Idempotent.
  void Close();

  // For the cache: queues what the filter lets through.
  void Offer(const ChangePtr& change);
  // The same for changes from before the subscription, which the ring bounds. Before it is shared.
  void CatchUp(const ChangePtr& change);
  void Bookmark(store::Revision revision);
  // Changes up to here were offered when it subscribed; the dispatch leaves them out. Set before it is
  // shared.
  void set_dispatched(store::Revision revision) { dispatched_ = revision; }
  store::Revision dispatched() const { return dispatched_; }
  const ObjectFilter& filter() const { return filter_; }

 private:
  std::optional<Item> Select(const ChangePtr& change) const;
  void Push(Item item);

  store::Revision dispatched_ = 0;

  const ObjectFilter filter_;
  mutable Mutex mu_;
  std::vector<Item> queue_ FLYBALL_GUARDED_BY(mu_);
  std::size_t catching_up_ FLYBALL_GUARDED_BY(mu_) = 0;   // of the queue: from before the subscription
  std::size_t queued_bytes_ FLYBALL_GUARDED_BY(mu_) = 0;  // of the queue without those
  Closure wake_ FLYBALL_GUARDED_BY(mu_);
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
};
using SubscriberPtr = std::shared_ptr<Subscriber>;

// Subscribers by what they select, so that a change is offered only to those it may concern: thousands of
// nodes each watching their own pods cost no more than one. Each subscriber is in one group: that of a value
// of a field or label it demands, else that of its namespace, else that of all.
// Thread-compatible: the owner guards it with a lock.
class SubscriberIndex {
 public:
  void Add(SubscriberPtr subscriber);
  void Remove(const SubscriberPtr& subscriber);

  // Those the change may concern, each once, appended.
  void Find(const Change& change, std::vector<SubscriberPtr>& out) const;
  std::vector<SubscriberPtr> All() const;

 private:
  using Groups = std::map<std::string, std::vector<SubscriberPtr>, std::less<>>;
  // Groups of one selector by its value.
  struct Family {
    SelectorTerm selector;  // its value is of no meaning
    Groups groups;
  };
  // Where a subscriber with these terms belongs; made if need be.
  Groups& GroupsOf(const std::vector<SelectorTerm>& terms);

  std::vector<Family> families_;
  Groups by_namespace_;  // "": all namespaces
};

}  // namespace flyball::server
