#include "scheduler/filter/filters.h"

namespace flyball::scheduler {
namespace {

constexpr char kUnschedulable[] = "node(s) were unschedulable";
constexpr char kNodeName[] = "node(s) didn't match the requested node name";
constexpr char kTaint[] = "node(s) had untolerated taint(s)";
constexpr char kNodeAffinity[] = "node(s) didn't match Pod's node affinity/selector";
constexpr char kPorts[] = "node(s) didn't have free ports for the requested pod ports";
constexpr char kTooManyPods[] = "Too many pods";

bool Cordoned(const PodInfo& pod, const Node& node) {
  static const Taint kCordon{.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"};
  return node.spec.unschedulable && !Tolerates(pod.pod->spec.tolerations, kCordon);
}

void CheckAmount(const std::string& name, std::int64_t wanted, std::int64_t has, std::int64_t used,
                 Rejection& rejection) {
  if (wanted <= 0 || wanted <= has - used) return;
  rejection.reasons.push_back("Insufficient " + name);
  if (wanted > has) rejection.unresolvable = true;
}

std::int64_t Find(const std::map<std::string, std::int64_t>& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

Rejection CheckResources(const PodInfo& pod, const NodeInfo& node) {
  Rejection rejection;
  const Resources& has = node.allocatable();
  const Resources& used = node.requested();
  const Resources& wanted = pod.requests;
  if (static_cast<std::int64_t>(node.pods().size()) + 1 > has.pods) rejection.reasons.push_back(kTooManyPods);
  CheckAmount("cpu", wanted.milli_cpu, has.milli_cpu, used.milli_cpu, rejection);
  CheckAmount("memory", wanted.memory, has.memory, used.memory, rejection);
  CheckAmount("ephemeral-storage", wanted.ephemeral_storage, has.ephemeral_storage, used.ephemeral_storage,
              rejection);
  for (const auto& [name, amount] : wanted.scalars)
    CheckAmount(name, amount, Find(has.scalars, name), Find(used.scalars, name), rejection);
  return rejection;
}

}  // namespace

Rejection CheckNode(const PodInfo& pod, const NodeInfo& node) {
  const PodSpec& spec = pod.pod->spec;
  if (!spec.node_name.empty() && spec.node_name != node.name()) return {{kNodeName}, true};
  if (Cordoned(pod, *node.node())) return {{kUnschedulable}, true};
  if (!ToleratesNode(spec, *node.node())) return {{kTaint}, true};
  if (!MatchesRequiredNodeAffinity(spec, *node.node())) return {{kNodeAffinity}, true};
  if (!node.PortsFree(pod.ports)) return {{kPorts}, false};
  return CheckResources(pod, node);
}

void FilterState::AddPod(const PodInfo& other, const NodeInfo& node) {
  spread_.AddPod(other, node);
  affinity_.AddPod(other, node);
}

void FilterState::RemovePod(const PodInfo& other, const NodeInfo& node) {
  spread_.RemovePod(other, node);
  affinity_.RemovePod(other, node);
}

Rejection FilterState::CheckOnce(const NodeInfo& node) const {
  if (Rejection rejection = CheckNode(pod_, node); !rejection.ok()) return rejection;
  if (const auto verdict = spread_.Check(node); verdict.reason)
    return {{verdict.reason}, verdict.unresolvable};
  if (const auto verdict = affinity_.Check(node); verdict.reason)
    return {{verdict.reason}, verdict.unresolvable};
  return {};
}

Rejection FilterState::Check(const NodeInfo& node) const {
  if (snapshot_.nominated && !snapshot_.nominated->empty()) {
    const auto found = snapshot_.nominated->find(node.name());
    NodeInfo with(node);
    FilterState state(*this);
    bool added = false;
    if (found != snapshot_.nominated->end()) {
      for (const PodInfoPtr& other : found->second) {
        if (other->uid() == pod_.uid() || other->priority < pod_.priority) continue;
        with.AddPod(other);
        state.AddPod(*other, node);
        added = true;
      }
    }
    if (added)
      if (Rejection rejection = state.CheckOnce(with); !rejection.ok()) return rejection;
  }
  return CheckOnce(node);
}

}  // namespace flyball::scheduler
