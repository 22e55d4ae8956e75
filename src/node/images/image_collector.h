// ImageCollector: removes images that nobody uses, when the disk is nearly full or they have been idle for
// long (upstream: kubelet's image GC manager).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/run/mutex.h"
#include "node/images/image_store.h"
#include "node/stats/usage.h"

namespace flyball::node {

// Kubelet's flags and defaults.
struct ImageGcPolicy {
  int high_percent = 85;                       // --image-gc-high-threshold; 100: never because of the disk
  int low_percent = 80;                        // --image-gc-low-threshold
  Duration min_age = std::chrono::minutes(2);  // --minimum-image-ttl-duration
  Duration max_age{};                          // --image-maximum-gc-age; zero: images may idle for ever
};
// BadRequest with upstream's text if the numbers make no sense.
Status CheckImageGcPolicy(const ImageGcPolicy& policy);

// Thread-safe; one round at a time.
class ImageCollector {
 public:
  // `disk` says how full the disk is that the images are on.
  ImageCollector(ImageStore& images, const ImageGcPolicy& policy,
                 std::function<std::optional<DiskUsage>(TimePoint now)> disk)
      : images_(images), policy_(policy), disk_(std::move(disk)) {}

  // One round. `used`: the names of images that containers have. An error if not enough could be removed,
  // with upstream's text.
  Status Round(const std::set<std::string>& used, TimePoint now);
  // Removes all that are not used, whatever their age.
  Status RemoveUnused(const std::set<std::string>& used, TimePoint now);

 private:
  struct Known {
    TimePoint first_seen{}, last_used{};
  };
  struct Idle {
    std::string name;
    std::int64_t size = 0;
    Known known;
  };
  // Those not used, the longest idle first.
  Result<std::vector<Idle>> FindIdle(const std::set<std::string>& used, TimePoint now) FLYBALL_REQUIRES(mu_);
  Status RemoveOld(std::vector<Idle>& idle, TimePoint now) FLYBALL_REQUIRES(mu_);

  ImageStore& images_;
  const ImageGcPolicy policy_;
  const std::function<std::optional<DiskUsage>(TimePoint now)> disk_;
  Mutex mu_;
  std::map<std::string, Known> known_ FLYBALL_GUARDED_BY(mu_);  // by name
};

}  // namespace flyball::node
