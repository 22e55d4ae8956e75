#include "server/request/work_size.h"

#include <algorithm>
#include <charconv>

namespace flyball::server {
namespace {

// Measured: below these a request takes some 100 microseconds at most, and handing it to another thread and
// back would cost as much.
constexpr std::size_t kSmallBytes = 16u << 10;
constexpr std::size_t kSmallObjects = 100;

// Upstream's numbers: bytesPerSeat, and cacheWithStreamingMaxMemoryUsage.
constexpr std::size_t kBytesPerSeat = 100'000;
constexpr std::size_t kMaxBytesAtOnce = 1'000'000;

bool ReadsCollection(const RequestInfo& info) {
  return info.verb == "list" || info.verb == "watch" || info.verb == "deletecollection";
}

// Of a collection: what is stored, or as much of it as the limit lets through.
WorkSize CollectionSize(const RequestInfo& info, const ResourceCache& cache) {
  const auto stored = cache.stats();
  WorkSize size{stored.objects, 0};
  std::size_t limit = 0;
  const auto text = info.query.Get("limit");
  std::from_chars(text.data(), text.data() + text.size(), limit);
  const std::size_t sent = limit > 0 ? std::min(limit, stored.objects) : stored.objects;
  // A selector makes the server look at all of them, whatever the limit.
  if (!info.query.Has("labelSelector") && !info.query.Has("fieldSelector")) size.objects = sent;
  if (stored.objects > 0) size.bytes = stored.bytes / stored.objects * sent;
  return size;
}

}  // namespace

bool WorkSize::IsLarge() const {
  return objects > kSmallObjects || bytes > kSmallBytes;
}

int WorkSize::Seats(int most) const {
  const std::size_t at_once = std::min(bytes, kMaxBytesAtOnce);
  const auto seats = static_cast<int>((at_once + kBytesPerSeat - 1) / kBytesPerSeat);
  return std::clamp(seats, 1, std::max(most, 1));
}

WorkSize EstimateWork(const RequestInfo& info, const net::Request& request, const ServedResource* resource) {
  WorkSize size{0, request.body.size() + request.target.size()};
  if (!resource || !resource->cache) return size;
  if (ReadsCollection(info) && info.name.empty()) {
    const WorkSize collection = CollectionSize(info, *resource->cache);
    size.objects = collection.objects;
    size.bytes += collection.bytes;
  } else if (!info.name.empty() && info.verb != "get") {  // a read finds its object anyway, and asks then
    const auto space =
        resource->kind->namespaced ? std::string_view(info.namespace_name) : std::string_view();
    if (const auto object = resource->cache->Get(ServedResource::CacheKey(space, info.name)))
      size.bytes += object->size();
  }
  return size;
}

}  // namespace flyball::server
