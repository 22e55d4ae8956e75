// The pods behind a Service and the ports they are reached at. Both endpoints controllers use this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "controller/manager.h"

namespace flyball::controllers {

inline constexpr char kHeadlessLabel[] = "service.kubernetes.io/headless";
// Marks Endpoints that are the lock of an old leader election, not the endpoints of a Service.
inline constexpr char kLeaderRecord[] = "control-plane.alpha.kubernetes.io/leader";

// One pod behind a Service, at one of its addresses.
struct Backend {
  std::shared_ptr<const Pod> pod;
  std::string address;
  std::vector<EndpointPort> ports;  // in the order of the Service, without those that the pod does not have
  bool ready = false;               // may get new connections
  bool serving = false;             // works, even if it is terminating
  bool terminating = false;
  std::string hostname;  // within the Service's domain; empty if it has none
};

bool IsHeadless(const Service& service);
// False for a Service whose endpoints someone else maintains, or that has none.
bool HasBackends(const Service& service);
// "IPv4" or "IPv6".
std::string_view FamilyOf(std::string_view address);
// "IPv4", "IPv6" or both: the families of its endpoints, the primary one first.
std::vector<std::string> FamiliesOf(const Service& service);
// Pods that match, have an address and have not ended.
std::vector<std::shared_ptr<const Pod>> PodsBehind(const Service& service, const Lister<Pod>& pods);
// The pods among them that have an address of the family, sorted by address.
std::vector<Backend> BackendsOf(const Service& service, const std::vector<std::shared_ptr<const Pod>>& pods,
                                std::string_view family);
ObjectReference RefToPod(const Pod& pod);

// The Services that select a pod.
std::vector<ObjectKey> ServicesOf(const Lister<Service>& services, const Pod& pod);
// True if the change affects an endpoint. Other changes, such as annotations, need no reconcile.
Predicates<Pod> EndpointChanged();

}  // namespace flyball::controllers
