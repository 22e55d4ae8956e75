#include "server/cache/subscriber.h"

#include <algorithm>

namespace flyball::server {
namespace {

void AppendGroup(const auto& groups, std::string_view value, std::vector<SubscriberPtr>& out) {
  if (const auto it = groups.find(value); it != groups.end())
    out.insert(out.end(), it->second.begin(), it->second.end());
}

}  // namespace

bool Subscriber::Take(std::vector<Item>& out, Closure wake) {
  MutexLock lock(mu_);
  out.clear();
  if (!queue_.empty() || closed_) {
    out.swap(queue_);
    catching_up_ = queued_bytes_ = 0;
    return true;
  }
  wake_ = std::move(wake);
  return false;
}

bool Subscriber::closed() const {
  MutexLock lock(mu_);
  return closed_;
}

void Subscriber::Close() {
  Closure wake;
  {
    MutexLock lock(mu_);
    closed_ = true;
    wake = std::move(wake_);
  }
  if (wake) wake();
}

void Subscriber::Push(Item item) {
  Closure wake;
  {
    MutexLock lock(mu_);
    if (closed_) return;
    if (item.change) queued_bytes_ += item.change->size();
    if (queue_.size() >= catching_up_ + kMaxQueued || queued_bytes_ > kMaxQueuedBytes) {
      closed_ = true;
      queue_ = {};
    } else {
      queue_.push_back(std::move(item));
    }
    wake = std::move(wake_);
  }
  if (wake) wake();
}

std::optional<Subscriber::Item> Subscriber::Select(const ChangePtr& change) const {
  const bool now = change->object && filter_.Accepts(*change->object);
  const bool before = change->previous && filter_.Accepts(*change->previous);
  if (!now && !before) return std::nullopt;
  const auto type = !before ? ChangeType::kAdded : now ? ChangeType::kModified : ChangeType::kDeleted;
  return Item{change, type, change->revision};
}

void Subscriber::Offer(const ChangePtr& change) {
  if (auto item = Select(change)) Push(std::move(*item));
}

void Subscriber::CatchUp(const ChangePtr& change) {
  auto item = Select(change);
  if (!item) return;
  MutexLock lock(mu_);
  queue_.push_back(std::move(*item));
  ++catching_up_;
}

void Subscriber::Bookmark(store::Revision revision) {
  Push({nullptr, ChangeType::kModified, revision});
}

SubscriberIndex::Groups& SubscriberIndex::GroupsOf(const std::vector<SelectorTerm>& terms) {
  if (terms.empty()) return by_namespace_;
  const auto family = std::find_if(families_.begin(), families_.end(),
                                   [&](const Family& f) { return f.selector.SameSelector(terms.front()); });
  if (family != families_.end()) return family->groups;
  return families_.emplace_back(Family{terms.front(), {}}).groups;
}

void SubscriberIndex::Add(SubscriberPtr subscriber) {
  const auto terms = subscriber->filter().Terms();
  const auto& value = terms.empty() ? subscriber->filter().namespace_name : terms.front().value;
  GroupsOf(terms)[value].push_back(std::move(subscriber));
}

void SubscriberIndex::Remove(const SubscriberPtr& subscriber) {
  const auto terms = subscriber->filter().Terms();
  Groups& groups = GroupsOf(terms);
  const auto group = groups.find(terms.empty() ? subscriber->filter().namespace_name : terms.front().value);
  if (group != groups.end()) {
    std::erase(group->second, subscriber);
    if (group->second.empty()) groups.erase(group);
  }
  if (groups.empty() && !terms.empty())
    std::erase_if(families_, [&](const Family& f) { return &f.groups == &groups; });
}

void SubscriberIndex::Find(const Change& change, std::vector<SubscriberPtr>& out) const {
  AppendGroup(by_namespace_, "", out);
  if (const auto& space = change.any().namespace_name(); !space.empty())
    AppendGroup(by_namespace_, space, out);
  for (const auto& family : families_) {
    std::optional<std::string_view> now, before;
    if (change.object) now = ValueOf(*change.object, family.selector);
    if (change.previous) before = ValueOf(*change.previous, family.selector);
    if (now) AppendGroup(family.groups, *now, out);
    if (before && before != now) AppendGroup(family.groups, *before, out);
  }
}

std::vector<SubscriberPtr> SubscriberIndex::All() const {
  std::vector<SubscriberPtr> all;
  for (const auto& [space, group] : by_namespace_) all.insert(all.end(), group.begin(), group.end());
  for (const auto& family : families_)
    for (const auto& [value, group] : family.groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace flyball::server
