// Resources: how much of each resource is requested or available, in the scheduler's units.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/types/core.h"
#include "api/values/quantity.h"

namespace flyball::scheduler {

// What a container without a request counts as when nodes are scored, so that such containers are spread too.
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
  // The larger of the two, per resource.
  void RaiseTo(const Resources& other);
  bool IsZero() const;
};

Resources ResourcesOf(const std::map<std::string, api::Quantity>& list);

// What a pod requests from its node: the larger of its containers and sidecars together and the peak of its
// init containers, plus the overhead (upstream: PodRequests).
Resources RequestsOf(const PodSpec& spec);
// The same, but a container without a CPU or memory request counts with the defaults above.
Resources NonZeroRequestsOf(const PodSpec& spec);

}  // namespace flyball::scheduler
