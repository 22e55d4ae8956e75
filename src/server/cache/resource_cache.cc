#include "server/cache/resource_cache.h"

#include <algorithm>

#include "base/observe/log.h"
#include "base/run/memory.h"

namespace flyball::server {

namespace {

std::string KeyOf(const StoredObject& object) {
  if (object.namespace_name().empty()) return object.name();
  return object.namespace_name() + "/" + object.name();
}

// So much, freed at once, goes back to the system.
constexpr std::size_t kWorthReturning = 1u << 20;

Error TooOld(store::Revision wanted, store::Revision oldest) {
  return Error(Reason::kExpired,
               "too old resource version: " + std::to_string(wanted) + " (" + std::to_string(oldest) + ")");
}

// Collects a page: what the filter accepts, up to the limit.
class PageBuilder {
 public:
  PageBuilder(const ObjectFilter& filter, const ListPage& page)
      : filter_(filter), limit_(page.limit), go_on_(page.go_on) {}

  // False: the page is full and the object is beyond it, or nobody wants it any more.
  bool Add(const ObjectPtr& object) {
    if (go_on_ && ++looked_at_ % kLooksBetweenQuestions == 0 && status_) status_ = go_on_();
    if (!status_) return false;
    if (!filter_.Accepts(*object)) return true;
    if (limit_ > 0 && snapshot_.objects.size() == limit_) {
      snapshot_.more = true;
      ++snapshot_.remaining;
      return false;
    }
    snapshot_.objects.push_back(object);
    return true;
  }
  ListSnapshot& snapshot() { return snapshot_; }
  const Status& status() const { return status_; }

 private:
  // A few milliseconds, even with selectors of tens of kilobytes.
  static constexpr std::size_t kLooksBetweenQuestions = 64;

  const ObjectFilter& filter_;
  const std::size_t limit_;
  const std::function<Status()>& go_on_;
  std::size_t looked_at_ = 0;
  Status status_;
  ListSnapshot snapshot_;
};

}  // namespace

ResourceCache::ResourceCache(std::string prefix, std::shared_ptr<const api::KindInfo> kind,
                             Executor& executor, const std::atomic<store::Revision>& published,
                             StoredObject::ReadForm form)
    : prefix_(std::move(prefix)),
      kind_(std::move(kind)),
      form_(std::move(form)),
      packs_(StoredObject::IsWorthPacking(*kind_)),
      executor_(executor),
      strand_(std::make_shared<Strand>(executor)),
      published_(published),
      objects_(kind_->namespaced) {}

ObjectPtr ResourceCache::Get(std::string_view key) const {
  MutexLock lock(mu_);
  return objects_.Find(key);
}

std::size_t ResourceCache::size() const {
  MutexLock lock(mu_);
  return objects_.size();
}

ResourceCache::Stats ResourceCache::stats() const {
  MutexLock lock(mu_);
  return {objects_.size(), bytes_};
}

store::Revision ResourceCache::last_change() const {
  MutexLock lock(mu_);
  return last_change_;
}

ListSnapshot ResourceCache::List(const ObjectFilter& filter) const {
  return *List(filter, ListPage{});  // the present is never too old
}

Result<ListSnapshot> ResourceCache::List(const ObjectFilter& filter, const ListPage& page) const {
  ObjectTable::Candidates present;
  PastObjects past;
  store::Revision revision = 0;
  {
    MutexLock lock(mu_);
    revision = std::max(published_.load(std::memory_order_acquire), last_change_);
    if (page.revision > 0 && page.revision < last_change_) {
      FLYBALL_ASSIGN(past, ChangedSince(page.revision));
    }
    present = objects_.Select(filter, page.start, past.empty() ? page.limit : 0);
  }
  PageBuilder builder(filter, page);
  auto& snapshot = builder.snapshot();
  snapshot.objects.reserve(filter.selective() || page.limit > 0 ? 0 : present.size());
  auto changed = past.lower_bound(page.start);
  const auto add_past = [&] {
    const ObjectPtr& object = (changed++)->second;
    return !object || builder.Add(object);
  };
  const bool counts = !filter.selective();
  present.ForEach([&](const ObjectPtr& object) {
    if (past.empty()) return builder.Add(object);
    const std::string key = KeyOf(*object);
    while (changed != past.end() && changed->first < key)
      if (!add_past() && !counts) return false;
    if (changed == past.end() || changed->first != key) return builder.Add(object) || counts;
    return add_past() || counts;
  });
  while (changed != past.end() && (add_past() || counts)) {
  }
  if (!builder.status()) return Unexpected(builder.status().error());
  if (past.empty()) snapshot.remaining = present.remaining();
  snapshot.more |= snapshot.remaining > 0;
  snapshot.revision = page.revision > 0 ? page.revision : revision;
  return std::move(snapshot);
}

Result<ResourceCache::PastObjects> ResourceCache::ChangedSince(store::Revision revision) const {
  if (revision < ring_start_) return Unexpected(TooOld(revision, ring_start_ + 1));
  PastObjects past;
  // Backwards: what a key was before the oldest change after the revision counts.
  for (auto it = ring_.rbegin(); it != ring_.rend() && (*it)->revision > revision; ++it)
    past.insert_or_assign(KeyOf((*it)->any()), (*it)->previous);
  return past;
}

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this == &other) return *this;
  End();
  subscriber = std::move(other.subscriber);
  initial = std::move(other.initial);
  revision = other.revision;
  cache = std::move(other.cache);
  return *this;
}

void Subscription::End() noexcept {
  if (cache && subscriber) cache->Unsubscribe(subscriber);
}

Expectation::~Expectation() {
  if (cache_) cache_->StopExpecting(bytes_.get());
}

Expectation ResourceCache::Expect(std::shared_ptr<StoredObject> object) {
  Bytes bytes = object->bytes();
  {
    MutexLock lock(expected_mu_);
    expected_[bytes.get()] = std::move(object);
  }
  return {shared_from_this(), std::move(bytes)};
}

void ResourceCache::StopExpecting(const std::string* bytes) {
  MutexLock lock(expected_mu_);
  expected_.erase(bytes);
}

Result<Subscription> ResourceCache::SubscribeAfter(ObjectFilter filter, store::Revision after) {
  Subscription subscription(std::make_shared<Subscriber>(std::move(filter)));
  subscription.revision = after;
  MutexLock lock(mu_);
  if (after < ring_start_) return Unexpected(TooOld(after, ring_start_ + 1));
  // What is not dispatched yet is in the ring too: it is offered here, and the dispatch skips new subscribers
  // by version.
  const auto first = std::upper_bound(ring_.begin(), ring_.end(), after,
                                      [](store::Revision r, const ChangePtr& c) { return r < c->revision; });
  for (auto it = first; it != ring_.end(); ++it) subscription.subscriber->CatchUp(*it);
  subscription.subscriber->set_dispatched(std::max(last_change_, after));
  subscribers_.Add(subscription.subscriber);
  subscription.cache = shared_from_this();
  return subscription;
}

Subscription ResourceCache::SubscribeNow(ObjectFilter filter) {
  Subscription subscription(std::make_shared<Subscriber>(std::move(filter)));
  const auto& wanted = subscription.subscriber->filter();
  ObjectTable::Candidates present;
  {
    MutexLock lock(mu_);
    subscription.revision = std::max(published_.load(std::memory_order_acquire), last_change_);
    present = objects_.Select(wanted);
    subscription.subscriber->set_dispatched(last_change_);
    subscribers_.Add(subscription.subscriber);
    subscription.cache = shared_from_this();
  }
  present.ForEach([&](const ObjectPtr& object) {
    if (wanted.Accepts(*object)) subscription.initial.push_back(object);
  });
  return subscription;
}

void ResourceCache::Unsubscribe(const SubscriberPtr& subscriber) {
  MutexLock lock(mu_);
  subscribers_.Remove(subscriber);
}

void ResourceCache::Observe(std::function<void(const Change&)> fn) {
  MutexLock lock(mu_);
  observers_.push_back(std::move(fn));
}

void ResourceCache::Load(std::vector<ObjectPtr> objects, store::Revision revision) {
  MutexLock lock(mu_);
  for (auto& object : objects) {
    bytes_ += object->size();
    objects_.Put(std::move(object));
  }
  ring_start_ = last_change_ = revision;
  is_loaded_ = true;
}

bool ResourceCache::is_loaded() const {
  MutexLock lock(mu_);
  return is_loaded_;
}

Status ResourceCache::readable() const {
  MutexLock lock(mu_);
  return readable_;
}

void ResourceCache::SetReadable(Status readable) {
  MutexLock lock(mu_);
  readable_ = std::move(readable);
}

Result<ObjectPtr> ResourceCache::Build(Bytes bytes, store::Revision revision) const {
  FLYBALL_ASSIGN(auto object, StoredObject::Build(std::move(bytes), revision, *kind_, form_));
  if (packs_) object->Pack();
  return ObjectPtr(std::move(object));
}

std::shared_ptr<StoredObject> ResourceCache::TakeExpected(const std::string* bytes) {
  MutexLock lock(expected_mu_);
  const auto it = expected_.find(bytes);
  if (it == expected_.end()) return nullptr;
  auto object = std::move(it->second);
  expected_.erase(it);
  return object;
}

Result<ObjectPtr> ResourceCache::ObjectOf(const store::Event& event) {
  const auto expected = TakeExpected(event.kv.value.get());
  if (!expected) return Build(event.kv.value, event.kv.mod_revision);
  expected->set_revision(event.kv.mod_revision);
  if (packs_) expected->Pack();
  return ObjectPtr(expected);
}

void ResourceCache::Apply(const store::Event& event) {
  const std::string_view key = std::string_view(event.kv.key).substr(prefix_.size());
  ObjectPtr object;
  if (event.type == store::Event::Type::kPut) {
    auto built = ObjectOf(event);
    if (!built) {
      log::Error("object left out of the watch cache",
                 {{"key", std::string(event.kv.key)}, {"error", built.error().message()}});
      return;
    }
    object = std::move(*built);
  }
  MutexLock lock(mu_);
  if (event.kv.mod_revision <= ring_start_) return;  // was loaded
  ObjectPtr previous = object ? objects_.Put(object) : objects_.Erase(key);
  if (!object && !previous) return;
  if (object) bytes_ += object->size();
  if (previous) bytes_ -= previous->size();
  const auto change =
      std::make_shared<const Change>(std::move(object), std::move(previous), event.kv.mod_revision);
  last_change_ = event.kv.mod_revision;
  Remember(change);
  undispatched_.push_back(change);
  if (std::exchange(dispatch_scheduled_, true)) return;
  strand_->Post([self = shared_from_this()] { self->Dispatch(); });
}

void ResourceCache::Reconcile(std::vector<store::KeyValue> items, store::Revision revision) {
  ObjectTable::Candidates present;
  {
    MutexLock lock(mu_);
    present = objects_.Select(ObjectFilter{});
  }
  std::unordered_map<std::string, store::Revision> known;
  present.ForEach([&](const ObjectPtr& object) {
    known.emplace(prefix_ + KeyOf(*object), object->revision());
    return true;
  });
  std::vector<store::Event> events;
  for (auto& item : items) {
    const auto it = known.find(item.key);
    const bool same = it != known.end() && it->second == item.mod_revision;
    if (it != known.end()) known.erase(it);
    if (!same) events.push_back({store::Event::Type::kPut, std::move(item), std::nullopt});
  }
  std::sort(events.begin(), events.end(),
            [](const auto& a, const auto& b) { return a.kv.mod_revision < b.kv.mod_revision; });
  // When they went is not known: by now.
  for (const auto& [key, unused] : known)
    events.push_back({store::Event::Type::kDelete, {key, nullptr, 0, revision}, std::nullopt});
  for (const auto& event : events) Apply(event);
}

void ResourceCache::Remember(const ChangePtr& change) {
  ring_.push_back(change);
  ring_bytes_ += change->size();
  if (ring_.size() > kEncodedKept) ring_[ring_.size() - 1 - kEncodedKept]->ForgetEncoded();
  while (ring_.size() > kRingSize || (ring_bytes_ > kRingBytes && ring_.size() > kRingAlways)) ForgetOldest();
}

void ResourceCache::ForgetOldest() {
  ring_start_ = ring_.front()->revision;
  ring_bytes_ -= ring_.front()->size();
  ring_.pop_front();
}

std::size_t ResourceCache::ForgetOld(SteadyTime now) {
  const std::size_t before = ring_bytes_;
  while (!ages_.empty() && now - ages_.front().first >= kRingAge) {
    while (!ring_.empty() && ring_.front()->revision <= ages_.front().second) ForgetOldest();
    ages_.pop_front();
  }
  if (!ring_.empty() && (ages_.empty() || ages_.back().second != last_change_))
    ages_.emplace_back(now, last_change_);
  return before - ring_bytes_;
}

void ResourceCache::Dispatch() {
  std::vector<ChangePtr> changes;
  std::vector<std::vector<SubscriberPtr>> concerned;
  std::vector<std::function<void(const Change&)>> observers;
  {
    MutexLock lock(mu_);
    changes.swap(undispatched_);
    dispatch_scheduled_ = false;
    observers = observers_;
    concerned.resize(changes.size());
    for (std::size_t i = 0; i < changes.size(); ++i) subscribers_.Find(*changes[i], concerned[i]);
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const auto& observer : observers) observer(*changes[i]);
    for (const auto& subscriber : concerned[i])
      if (changes[i]->revision > subscriber->dispatched()) subscriber->Offer(changes[i]);
  }
}

void ResourceCache::BookmarkAll() {
  strand_->Post([self = shared_from_this()] { self->DispatchBookmarks(); });
}

void ResourceCache::DispatchBookmarks() {
  Dispatch();
  std::vector<SubscriberPtr> subscribers;
  store::Revision revision = 0;
  std::size_t freed = 0;
  {
    MutexLock lock(mu_);
    freed = ForgetOld(executor_.clock().Steady());
    if (!undispatched_.empty()) return;  // a change came in between; its own events advance the clients
    subscribers = subscribers_.All();
    revision = std::max(published_.load(std::memory_order_acquire), last_change_);
  }
  for (const auto& subscriber : subscribers) subscriber->Bookmark(revision);
  if (freed >= kWorthReturning) ReturnFreeMemory();
}

void ResourceCache::CloseAll() {
  std::vector<SubscriberPtr> subscribers;
  {
    MutexLock lock(mu_);
    subscribers = std::exchange(subscribers_, {}).All();
  }
  for (const auto& subscriber : subscribers) subscriber->Close();
}

}  // namespace flyball::server
