#include "scheduler/snapshot/resources.h"

#include <algorithm>

namespace flyball::scheduler {
namespace {

Resources OfContainer(const Container& container, bool with_defaults) {
  const auto& requests = container.resources.requests;
  Resources result = ResourcesOf(requests);
  if (!with_defaults) return result;
  if (!requests.contains("cpu")) result.milli_cpu = kDefaultMilliCpu;
  if (!requests.contains("memory")) result.memory = kDefaultMemory;
  return result;
}

// Sidecars keep running, so every later init container adds to them.
Resources Aggregate(const PodSpec& spec, bool with_defaults) {
  Resources running;
  for (const Container& container : spec.containers) running += OfContainer(container, with_defaults);
  Resources sidecars;
  Resources init_peak;
  for (const Container& container : spec.init_containers) {
    Resources moment = OfContainer(container, with_defaults);
    if (container.restart_policy == "Always") {
      running += moment;
      sidecars += moment;
      moment = sidecars;
    } else {
      moment += sidecars;
    }
    init_peak.RaiseTo(moment);
  }
  running.RaiseTo(init_peak);
  return running;
}

// Requests of the pod as a whole replace those of its containers for the resources they name.
void ApplyPodLevel(const PodSpec& spec, Resources& total) {
  if (!spec.resources) return;
  const auto& requests = spec.resources->requests;
  const Resources level = ResourcesOf(requests);
  if (requests.contains("cpu")) total.milli_cpu = level.milli_cpu;
  if (requests.contains("memory")) total.memory = level.memory;
  for (const auto& [name, amount] : level.scalars)
    if (name.starts_with("hugepages-")) total.scalars[name] = amount;
}

Resources Total(const PodSpec& spec, bool with_defaults) {
  Resources total = Aggregate(spec, with_defaults);
  ApplyPodLevel(spec, total);
  total += ResourcesOf(spec.overhead);
  return total;
}

}  // namespace

Resources& Resources::operator+=(const Resources& other) {
  milli_cpu += other.milli_cpu;
  memory += other.memory;
  ephemeral_storage += other.ephemeral_storage;
  pods += other.pods;
  for (const auto& [name, amount] : other.scalars) scalars[name] += amount;
  return *this;
}

Resources& Resources::operator-=(const Resources& other) {
  milli_cpu -= other.milli_cpu;
  memory -= other.memory;
  ephemeral_storage -= other.ephemeral_storage;
  pods -= other.pods;
  for (const auto& [name, amount] : other.scalars) scalars[name] -= amount;
  return *this;
}

void Resources::RaiseTo(const Resources& other) {
  milli_cpu = std::max(milli_cpu, other.milli_cpu);
  memory = std::max(memory, other.memory);
  ephemeral_storage = std::max(ephemeral_storage, other.ephemeral_storage);
  for (const auto& [name, amount] : other.scalars) scalars[name] = std::max(scalars[name], amount);
}

bool Resources::IsZero() const {
  if (milli_cpu != 0 || memory != 0 || ephemeral_storage != 0) return false;
  return std::all_of(scalars.begin(), scalars.end(), [](const auto& entry) { return entry.second == 0; });
}

Resources ResourcesOf(const std::map<std::string, api::Quantity>& list) {
  Resources result;
  for (const auto& [name, quantity] : list) {
    if (name == "cpu")
      result.milli_cpu = quantity.MilliValue();
    else if (name == "memory")
      result.memory = quantity.Value();
    else if (name == "ephemeral-storage")
      result.ephemeral_storage = quantity.Value();
    else if (name == "pods")
      result.pods = quantity.Value();
    else
      result.scalars[name] = quantity.Value();
  }
  return result;
}

Resources RequestsOf(const PodSpec& spec) {
  return Total(spec, false);
}

Resources NonZeroRequestsOf(const PodSpec& spec) {
  return Total(spec, true);
}

}  // namespace flyball::scheduler
