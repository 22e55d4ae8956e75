// AnswerCache: what upstreams have answered, for as long as they said.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/run/clock.h"
#include "dns/packet/message.h"

namespace flyball::dns {

// An upstream's answer; its TTLs count from `received`. Immutable.
struct UpstreamAnswer {
  Message message{};
  SteadyTime received{};
  // Fills in the sections and rcode of a reply, with what is left of the TTLs; owners that are the question's
  // name get its spelling.
  void CopyTo(Message& reply, SteadyTime now) const;
};

// Whole answers, never single records: what an upstream adds about other names is believed by nobody. Bounded
// in bytes; the least recently used goes first. Confined to its owner.
class AnswerCache {
 public:
  explicit AnswerCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::shared_ptr<const UpstreamAnswer> Find(const std::string& key, SteadyTime now);
  // Kept for LifetimeOf the message; not at all if that is zero.
  void Add(const std::string& key, std::shared_ptr<const UpstreamAnswer> answer, SteadyTime now);

  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return by_key_.size(); }

  // The smallest TTL of what was asked for; of "no such thing", what the SOA says (RFC 2308); a moment for
  // failures, so that a broken zone is not asked for on every query (RFC 9520).
  static Duration LifetimeOf(const Message& message);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const UpstreamAnswer> answer;
    SteadyTime until{};
    std::size_t bytes = 0;
  };
  using Entries = std::list<Entry>;
  void Drop(Entries::iterator entry);

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  Entries entries_;  // most recently used first
  std::unordered_map<std::string_view, Entries::iterator> by_key_;
};

}  // namespace flyball::dns
