// Resources: how much of each resource something asks for or has, in the units the scheduler counts in.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/types/core.h"
#include "api/values/quantity.h"

namespace flyball::scheduler {

// What a container without a request counts as when nodes are scored, so that such containers spread too.
inline constexpr std::int64_t kDefaultMilliCpu = 100;
inline constexpr std::int64_t kDefaultMemory = 200 * 1024 * 1024;

// A value.
struct Resources {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeral_storage = 0;
  std::int64_t pods = 0;                        // of nodes only
  std::map<std::string, std::int64_t> scalars;  // extended resources, huge pages

  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);
  // The larger of the two, resource by resource.
  void RaiseTo(const Resources& other);
  bool IsZero() const;
};

Resources ResourcesOf(const std::map<std::string, api::Quantity>& list);

// What a pod asks of its node: containers and sidecars together or the greediest moment of its init
// containers, whichever is more, and the overhead (upstream: PodRequests).
Resources RequestsOf(const PodSpec& spec);
// The same, where a container that asks for no CPU or no memory counts as the defaults above.
Resources NonZeroRequestsOf(const PodSpec& spec);

}  // namespace flyball::scheduler
