// ExpiringCache: answers of other servers, each kept for a while; the least recently used give way.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "net/tls/pki.h"

namespace flyball::server {

// Keys are hashed with a secret of this process, so that no credential stays in memory. Thread-safe.
template <typename V>
class ExpiringCache {
 public:
  ExpiringCache(std::size_t capacity, const Clock& clock) : capacity_(capacity), clock_(clock) {}

  std::optional<V> Get(std::string_view key) {
    const std::string hash = Hash(key);
    MutexLock lock(mu_);
    const auto found = index_.find(hash);
    if (found == index_.end()) return std::nullopt;
    if (clock_.Steady() >= found->second->expires) {
      Erase(found->second);
      return std::nullopt;
    }
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  // Not kept at all if ttl is not positive.
  void Put(std::string_view key, V value, Duration ttl) {
    if (ttl <= Duration::zero()) return;
    std::string hash = Hash(key);
    MutexLock lock(mu_);
    if (const auto found = index_.find(hash); found != index_.end()) Erase(found->second);
    if (entries_.size() >= capacity_) Erase(std::prev(entries_.end()));
    entries_.push_front({hash, std::move(value), clock_.Steady() + ttl});
    index_[std::move(hash)] = entries_.begin();
  }

 private:
  struct Item {
    std::string key;
    V value;
    SteadyTime expires;
  };
  using Place = typename std::list<Item>::iterator;

  std::string Hash(std::string_view key) const { return net::Sha256(secret_ + std::string(key)); }
  void Erase(Place place) FLYBALL_REQUIRES(mu_) {
    index_.erase(place->key);
    entries_.erase(place);
  }

  const std::size_t capacity_;
  const Clock& clock_;
  const std::string secret_ = net::RandomBytes(32);
  Mutex mu_;
  std::list<Item> entries_ FLYBALL_GUARDED_BY(mu_);  // the most recently used first
  std::unordered_map<std::string, Place> index_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
