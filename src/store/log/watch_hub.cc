#include "store/log/watch_hub.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace flyball::store {

WatchHub::~WatchHub() = default;

std::unique_ptr<Watch> WatchHub::Add(std::string prefix, Revision after, WatchSink* sink) {
  auto watcher = std::make_shared<Watcher>(std::move(prefix), after, sink);
  MutexLock lock(mu_);
  new_.push_back(watcher);
  return std::make_unique<WatchHandle>(std::move(watcher));
}

void WatchHub::Admit(Revision published) {
  std::vector<std::shared_ptr<Watcher>> admitted;
  {
    MutexLock lock(mu_);
    admitted.swap(new_);
  }
  for (auto& watcher : admitted) {
    if (watcher->delivered < published)
      behind_.push_back(std::move(watcher));
    else
      MakeLive(std::move(watcher), published);
  }
}

void WatchHub::MakeLive(std::shared_ptr<Watcher> watcher, Revision revision) {
  auto& watchers = live_[watcher->prefix].watchers;
  // Where nothing is ever delivered, ended watches go when there is no room for a new one.
  if (watchers.size() == watchers.capacity())
    std::erase_if(watchers, [](const auto& other) { return other->ended(); });
  watchers.push_back(watcher);
  watcher->Call([&](WatchSink& sink) { sink.OnProgress(revision); });
}

bool WatchHub::CatchUp(History& history, Revision published) {
  if (behind_.empty()) return false;
  auto watcher = std::move(behind_.front());
  behind_.pop_front();
  if (watcher->ended()) return true;
  auto slice = history.ReadEvents(watcher->prefix, watcher->delivered, published);
  if (!slice) {
    watcher->Call([&](WatchSink& sink) { sink.OnError(slice.error()); });
    watcher->End();
    return true;
  }
  if (!slice->events.empty()) watcher->Call([&](WatchSink& sink) { sink.OnEvents(slice->events); });
  watcher->delivered = slice->reached;
  if (watcher->delivered < published)
    behind_.push_back(std::move(watcher));
  else
    MakeLive(std::move(watcher), published);
  return true;
}

void WatchHub::Deliver(std::vector<Event> events) {
  if (live_.empty()) return;
  std::vector<Group*> matching;
  for (Event& event : events) {
    matching.clear();
    for (auto& [prefix, group] : live_)
      if (event.kv.key.starts_with(prefix)) matching.push_back(&group);
    if (matching.empty()) continue;
    // Most keys are watched through one prefix: that group gets the event itself, others a copy.
    for (std::size_t i = 1; i < matching.size(); ++i) matching[i]->events.push_back(event);
    matching[0]->events.push_back(std::move(event));
  }
  for (auto it = live_.begin(); it != live_.end();) {
    DeliverTo(it->second);
    it = it->second.watchers.empty() ? live_.erase(it) : std::next(it);
  }
}

void WatchHub::DeliverTo(Group& group) {
  if (group.events.empty()) return;
  const std::vector<Event> events = std::exchange(group.events, {});
  const Revision first = events.front().kv.mod_revision, last = events.back().kv.mod_revision;
  bool some_ended = false;
  for (auto& watcher : group.watchers) {
    if (watcher->ended()) {
      some_ended = true;
    } else if (watcher->delivered < first) {
      watcher->Call([&](WatchSink& sink) { sink.OnEvents(events); });
      watcher->delivered = last;
    } else {  // a watch from a revision that was in the future when it began
      std::vector<Event> later;
      for (const Event& event : events)
        if (event.kv.mod_revision > watcher->delivered) later.push_back(event);
      if (!later.empty()) watcher->Call([&](WatchSink& sink) { sink.OnEvents(later); });
      watcher->delivered = std::max(watcher->delivered, last);
    }
  }
  if (some_ended) std::erase_if(group.watchers, [](const auto& watcher) { return watcher->ended(); });
}

void WatchHub::Progress(Revision revision) {
  for (auto& [prefix, group] : live_)
    for (auto& watcher : group.watchers)
      if (watcher->delivered <= revision) watcher->Call([&](WatchSink& sink) { sink.OnProgress(revision); });
}

}  // namespace flyball::store
