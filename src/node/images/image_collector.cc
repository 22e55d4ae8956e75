#include "node/images/image_collector.h"

#include <algorithm>

#include "base/observe/log.h"

namespace flyball::node {
namespace {

// What has been there since before this program looked may go at once only if it is that old by then, too.
bool IsOldEnough(TimePoint first_seen, Duration min_age, TimePoint now) {
  return now - first_seen >= min_age;
}

}  // namespace

Status CheckImageGcPolicy(const ImageGcPolicy& policy) {
  const auto bad = [](const char* name, int value) {
    return BadRequest("invalid configuration: " + std::string(name) + " " + std::to_string(value) +
                      " must be between 0 and 100, inclusive");
  };
  if (policy.high_percent < 0 || policy.high_percent > 100)
    return Unexpected(bad("imageGCHighThresholdPercent (--image-gc-high-threshold)", policy.high_percent));
  if (policy.low_percent < 0 || policy.low_percent > 100)
    return Unexpected(bad("imageGCLowThresholdPercent (--image-gc-low-threshold)", policy.low_percent));
  if (policy.low_percent >= policy.high_percent)
    return Unexpected(
        BadRequest("invalid configuration: imageGCLowThresholdPercent (--image-gc-low-threshold) " +
                   std::to_string(policy.low_percent) +
                   " must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) " +
                   std::to_string(policy.high_percent)));
  if (policy.max_age != Duration::zero() && policy.max_age <= policy.min_age)
    return Unexpected(
        BadRequest("invalid configuration: imageMaximumGCAge must be greater than imageMinimumGCAge"));
  return {};
}

Result<std::vector<ImageCollector::Idle>> ImageCollector::FindIdle(const std::set<std::string>& used,
                                                                   TimePoint now) {
  FLYBALL_ASSIGN(const std::vector<StoredImage> images, images_.List());
  std::map<std::string, Known> known;
  std::vector<Idle> idle;
  for (const StoredImage& image : images) {
    const auto before = known_.find(image.name);
    Known entry = before == known_.end() ? Known{.first_seen = now} : before->second;
    // What was never pulled cannot be had again: it stays until somebody removes it.
    if (used.contains(image.name))
      entry.last_used = now;
    else if (!image.digest.empty())
      idle.push_back({image.name, image.size, entry});
    known[image.name] = entry;
  }
  known_ = std::move(known);
  std::sort(idle.begin(), idle.end(), [](const Idle& a, const Idle& b) {
    return std::pair(a.known.last_used, a.known.first_seen) <
           std::pair(b.known.last_used, b.known.first_seen);
  });
  return idle;
}

// Those that nobody has used for so long.
Status ImageCollector::RemoveOld(std::vector<Idle>& idle, TimePoint now) {
  if (policy_.max_age == Duration::zero()) return {};
  for (auto image = idle.begin(); image != idle.end();) {
    const TimePoint since = std::max(image->known.last_used, image->known.first_seen);
    if (now - since <= policy_.max_age) {
      ++image;
      continue;
    }
    log::Info("removing an image that was not used for long", {{"image", image->name}});
    FLYBALL_TRY(images_.Remove(image->name));
    image = idle.erase(image);
  }
  return {};
}

Status ImageCollector::Round(const std::set<std::string>& used, TimePoint now) {
  MutexLock lock(mu_);
  FLYBALL_ASSIGN(std::vector<Idle> idle, FindIdle(used, now));
  FLYBALL_TRY(RemoveOld(idle, now));
  auto disk = disk_(now);
  if (!disk || disk->capacity == 0)
    return Unexpected(InternalError("invalid capacity 0 on image filesystem"));
  const auto percent = 100 - static_cast<int>(disk->available * 100 / disk->capacity);
  if (policy_.high_percent >= 100 || percent < policy_.high_percent) return {};
  const auto wanted = disk->capacity * static_cast<std::uint64_t>(100 - policy_.low_percent) / 100;
  log::Info("the disk is nearly full, removing images that nobody uses",
            {{"percent", std::to_string(percent)}});
  const std::uint64_t before = disk->available;
  for (const Idle& image : idle) {
    if (disk->available >= wanted) break;
    if (!IsOldEnough(image.known.first_seen, policy_.min_age, now)) continue;
    FLYBALL_TRY(images_.Remove(image.name));
    log::Info("removed an image", {{"image", image.name}});
    // What it shared with others stays: how much that was, the disk says.
    if (auto after = disk_(now)) disk = after;
  }
  if (disk->available >= wanted) return {};
  return Unexpected(InternalError("Failed to garbage collect required amount of images. Attempted to free " +
                                  std::to_string(wanted - before) + " bytes, but only found " +
                                  std::to_string(disk->available - std::min(before, disk->available)) +
                                  " bytes eligible to free."));
}

Status ImageCollector::RemoveUnused(const std::set<std::string>& used, TimePoint now) {
  MutexLock lock(mu_);
  FLYBALL_ASSIGN(const std::vector<Idle> idle, FindIdle(used, now));
  for (const Idle& image : idle) {
    log::Info("removing an image that nobody uses", {{"image", image.name}});
    FLYBALL_TRY(images_.Remove(image.name));
  }
  return {};
}

}  // namespace flyball::node
