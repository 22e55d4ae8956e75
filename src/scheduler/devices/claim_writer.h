// ClaimWriter: writes what binding a pod means for its claims, one claim after the other: the finalizer, the
// allocation, and the reservation for the pod (upstream: DynamicResources.PreBind).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/types/core.h"
#include "base/values/result.h"
#include "client/client.h"
#include "scheduler/devices/pod_devices.h"

namespace flyball::scheduler {

// Owns itself while requests are under way. `done` is called once, on the client's thread: Conflict if a
// claim changed in a way that makes the plan wrong, or the server's error.
class ClaimWriter : public std::enable_shared_from_this<ClaimWriter> {
 public:
  using Done = std::function<void(const Status&)>;

  static void Start(Client client, std::shared_ptr<const Pod> pod, std::vector<ClaimPlan> plans, Done done);
  // Frees the devices of a claim that nobody but the pod uses.
  static void Free(const Client& client, const ResourceClaimObject& claim);

 private:
  ClaimWriter(Client client, std::shared_ptr<const Pod> pod, std::vector<ClaimPlan> plans, Done done)
      : client_(std::move(client)), pod_(std::move(pod)), plans_(std::move(plans)), done_(std::move(done)) {}

  void Next();
  void Write(const ResourceClaimObject& claim);
  void Protect(ResourceClaimObject claim);
  void Reserve(ResourceClaimObject claim);
  void Written(const Result<json::Value>& result, bool last);
  void ReadAgain();

  const Client client_;
  const std::shared_ptr<const Pod> pod_;
  const std::vector<ClaimPlan> plans_;
  const Done done_;
  std::size_t at_ = 0;
  int attempts_ = 0;  // of this claim
};

}  // namespace flyball::scheduler
