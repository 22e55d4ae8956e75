// What must hold for pods at every moment, whatever goes wrong. It is checked against the store itself,
// change by change, not against a cache.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "store/store.h"

namespace flyball::controllers::testing {

struct PodFact {
  std::string uid, owner_kind, phase;
  bool deleting = false, ready = false;
  int index = -1;

  bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool active() const { return !deleting && !finished(); }
  bool available() const { return active() && ready; }
};

inline json::Array ItemsOf(const json::Value& list) {
  return list.is_array() ? list.as_array() : json::Array();
}

inline PodFact ReadPodFact(const json::Value& pod) {
  PodFact fact;
  const json::Value& meta = pod["metadata"];
  fact.uid = meta["uid"].string_or("");
  fact.phase = pod["status"]["phase"].string_or("");
  fact.deleting = meta.Find("deletionTimestamp") != nullptr;
  for (const json::Value& ref : ItemsOf(meta["ownerReferences"]))
    if (ref["controller"].bool_or(false)) fact.owner_kind = ref["kind"].string_or("");
  for (const json::Value& c : ItemsOf(pod["status"]["conditions"]))
    if (c["type"].string_or("") == "Ready") fact.ready = c["status"].string_or("") == "True";
  const std::string index(meta["annotations"]["batch.kubernetes.io/job-completion-index"].string_or(""));
  if (!index.empty()) fact.index = std::stoi(index);
  return fact;
}

// Follows the pods and Jobs of a store. Confined to the store's thread.
class PodHistory : public store::WatchSink {
 public:
  void OnEvents(const std::vector<store::Event>& events) override {
    for (const store::Event& event : events) {
      if (event.kv.key.starts_with("/registry/pods/")) OnPodEvent(event);
      if (event.kv.key.starts_with("/registry/jobs/") && event.type == store::Event::Type::kPut) {
        const json::Value job = *json::Parse(*event.kv.value);
        OnJob(job);
      }
    }
  }
  void OnProgress(store::Revision) override {}
  void OnError(const Error& error) override { Violation("the watch ended: " + error.ToString()); }

  const std::vector<std::string>& violations() const { return violations_; }

 protected:
  // One of them is null when the object was created or deleted.
  virtual void OnPodChange(const std::string& key, const PodFact* before, const PodFact* after) = 0;
  virtual void OnJob(const json::Value&) {}

  void Violation(std::string what) { violations_.push_back(std::move(what)); }
  template <typename Pred>
  int Count(const Pred& pred) const {
    int n = 0;
    for (const auto& [key, fact] : pods_) n += pred(fact) ? 1 : 0;
    return n;
  }

 private:
  void OnPodEvent(const store::Event& event) {
    const auto found = pods_.find(event.kv.key);
    const std::optional<PodFact> before = found == pods_.end() ? std::nullopt : std::optional(found->second);
    if (event.type == store::Event::Type::kDelete) {
      pods_.erase(event.kv.key);
      return OnPodChange(event.kv.key, before ? &*before : nullptr, nullptr);
    }
    const json::Value pod = *json::Parse(*event.kv.value);
    const PodFact& after = pods_[event.kv.key] = ReadPodFact(pod);
    OnPodChange(event.kv.key, before ? &*before : nullptr, &after);
  }

  std::map<std::string, PodFact> pods_;
  std::vector<std::string> violations_;
};

// For the one Deployment: never more pods than its size and surge allow, and no working pod is removed below
// the number that must be available.
class RolloutInvariants final : public PodHistory {
 public:
  // The user set a size. A manager that has not seen it yet acts on the previous one, so the largest of all
  // sizes bounds the pods, and the smallest what must be available.
  void Allow(int replicas, int max_surge, int max_unavailable) {
    most_ = std::max(most_, replicas + max_surge);
    fewest_ = fewest_ < 0 ? replicas - max_unavailable : std::min(fewest_, replicas - max_unavailable);
  }
  // The next deletion of this pod is the user's.
  void Excuse(const std::string& key) { excused_.insert(key); }

 private:
  void OnPodChange(const std::string& key, const PodFact* before, const PodFact* after) override {
    if ((after ? after : before)->owner_kind != "ReplicaSet") return;
    const auto of_sets = [](const PodFact& pod) { return pod.owner_kind == "ReplicaSet"; };
    const int active = Count([&](const PodFact& pod) { return of_sets(pod) && pod.active(); });
    if (!before && active > most_)
      Violation(key + " is pod number " + std::to_string(active) + " of at most " + std::to_string(most_));
    if (!before || !before->available() || (after && after->available())) return;
    // One working pod less. Did it end by itself, or did the user or a controller remove it?
    const bool deleted = !after || after->deleting;
    if (!deleted || excused_.erase(key) > 0) {
      ++lost_by_chance_;
      return;
    }
    const int available = Count([&](const PodFact& pod) { return of_sets(pod) && pod.available(); });
    if (available + lost_by_chance_ < fewest_)
      Violation("with " + key + " deleted only " + std::to_string(available) + " pods of at least " +
                std::to_string(fewest_) + " are available");
  }

  int most_ = 0, fewest_ = -1;
  int lost_by_chance_ = 0;
  std::set<std::string> excused_;
};

// For the one Job: never more active pods than allowed, no pod counted before it has ended, none counted
// twice, and no finished work done again.
class JobInvariants final : public PodHistory {
 public:
  JobInvariants(int parallelism, int completions) : parallelism_(parallelism), completions_(completions) {}

  int succeeded() const { return static_cast<int>(succeeded_.size()); }
  int failed() const { return static_cast<int>(failed_.size()); }

 private:
  void OnPodChange(const std::string& key, const PodFact* before, const PodFact* after) override {
    if ((after ? after : before)->owner_kind != "Job") return;
    const auto works = [](const PodFact& pod) { return pod.owner_kind == "Job" && pod.active(); };
    const int active = Count(works);
    if (!before && active > parallelism_)
      Violation(key + " is pod number " + std::to_string(active) + " at work");
    if (!before && active + succeeded() > completions_)
      Violation(key + " is one more than the completions that are left");
    if (!before && after->index >= 0 &&
        (done_indexes_.contains(after->index) ||
         Count([&](const PodFact& pod) { return works(pod) && pod.index == after->index; }) > 1))
      Violation(key + " does index " + std::to_string(after->index) + " again");
    if (!after) {
      // Gone before it could report how it ended.
      if (!before->finished()) failed_.insert(before->uid);
      return;
    }
    if (after->phase == "Succeeded") {
      succeeded_.insert(after->uid);
      failed_.erase(after->uid);
      if (after->index >= 0) done_indexes_.insert(after->index);
    } else if (after->phase == "Failed" || after->deleting) {
      failed_.insert(after->uid);
    }
  }

  void OnJob(const json::Value& job) override {
    const json::Value& status = job["status"];
    const json::Value& uncounted = status["uncountedTerminatedPods"];
    const int good = static_cast<int>(status["succeeded"].int_or(0));
    const int bad = static_cast<int>(status["failed"].int_or(0));
    CheckCount("succeeded", good, good + static_cast<int>(uncounted["succeeded"].size()), succeeded(),
               last_good_);
    CheckCount("failed", bad, bad + static_cast<int>(uncounted["failed"].size()), failed(), last_bad_);
    if (good > completions_) Violation("more succeeded than completions: " + json::Write(status));
  }
  void CheckCount(const std::string& name, int counted, int known, int truth, int& last) {
    if (known > truth)
      Violation(std::to_string(known) + " pods counted as " + name + ", " + std::to_string(truth) + " have");
    if (counted < last) Violation("the count of " + name + " fell to " + std::to_string(counted));
    last = counted;
  }

  const int parallelism_, completions_;
  std::set<std::string> succeeded_, failed_;
  std::set<int> done_indexes_;
  int last_good_ = 0, last_bad_ = 0;
};

}  // namespace flyball::controllers::testing
