#include <map>
#include <set>
#include <string>

#include "api/kinds/pod/pod_update.h"
#include "api/rules/access.h"

namespace flyball::api {
namespace {

using json::Value;

bool IsCompute(std::string_view name) {
  return name == "cpu" || name == "memory";
}

struct Totals {
  std::map<std::string, Quantity> requests, limits;
  bool guaranteed = true;
};

void AddCompute(const Value& list, std::map<std::string, Quantity>& totals, std::set<std::string>& named) {
  for (const auto& [name, value] : Entries(list)) {
    const Quantity quantity = QuantityOf(value);
    if (!IsCompute(name) || quantity.Sign() <= 0) continue;
    totals[name] += quantity;
    named.insert(name);
  }
}

void AddContainer(const Value& resources, Totals& totals) {
  std::set<std::string> requested, limited;
  AddCompute(resources["requests"], totals.requests, requested);
  AddCompute(resources["limits"], totals.limits, limited);
  totals.guaranteed = totals.guaranteed && limited.size() == 2;
}

}  // namespace

// Guaranteed: every container limits cpu and memory and requests the same. BestEffort: nobody asks for
// anything.
std::string_view PodQosClass(const Value& spec) {
  Totals totals;
  if (Has(spec, "resources")) {
    AddContainer(spec["resources"], totals);
  } else {
    for (const char* list : {"containers", "initContainers"}) {
      for (const Value& container : Items(spec[list])) AddContainer(container["resources"], totals);
    }
  }
  if (totals.requests.empty() && totals.limits.empty()) return "BestEffort";
  return totals.guaranteed && totals.requests == totals.limits ? "Guaranteed" : "Burstable";
}

}  // namespace flyball::api
