#include "scheduler/snapshot/pod_info.h"

#include <algorithm>

namespace flyball::scheduler {
namespace {

// matchLabelKeys narrow a term to pods with the same value as this pod, mismatchLabelKeys to pods with
// another.
void MergeKeys(const PodAffinityTerm& from, const Labels& labels, api::Optional<LabelSelector>& selector) {
  if (!selector) return;
  const auto add = [&](const std::vector<std::string>& keys, const char* op) {
    for (const std::string& key : keys)
      if (const auto found = labels.find(key); found != labels.end())
        selector->match_expressions.push_back({.key = key, .operator_ = op, .values = {found->second}});
  };
  add(from.match_label_keys, "In");
  add(from.mismatch_label_keys, "NotIn");
}

AffinityTerm TermOf(const Pod& pod, const PodAffinityTerm& from, std::int64_t weight = 0) {
  AffinityTerm term{from.topology_key, from.label_selector, from.namespaces, from.namespace_selector, weight};
  if (term.namespaces.empty() && !term.namespace_selector) term.namespaces = {pod.metadata.namespace_};
  MergeKeys(from, pod.metadata.labels, term.selector);
  return term;
}

template <typename Affinity>
void ReadTerms(const Pod& pod, const Affinity& affinity, std::vector<AffinityTerm>& required,
               std::vector<AffinityTerm>& preferred) {
  for (const PodAffinityTerm& term : affinity.required_during_scheduling_ignored_during_execution)
    required.push_back(TermOf(pod, term));
  for (const auto& term : affinity.preferred_during_scheduling_ignored_during_execution)
    preferred.push_back(TermOf(pod, term.pod_affinity_term, term.weight));
}

void AddPorts(const Container& container, bool host_network, std::vector<HostPort>& ports) {
  for (const ContainerPort& port : container.ports) {
    const std::int32_t number = port.host_port != 0 ? port.host_port : host_network ? port.container_port : 0;
    if (number == 0) continue;
    ports.push_back({port.host_ip.empty() ? "0.0.0.0" : port.host_ip,
                     port.protocol.empty() ? "TCP" : port.protocol, number});
  }
}

}  // namespace

bool AffinityTerm::Matches(const Pod& other, const NamespaceLabels& all) const {
  const std::string& ns = other.metadata.namespace_;
  bool here = std::find(namespaces.begin(), namespaces.end(), ns) != namespaces.end();
  if (!here && namespace_selector) {
    static const Labels kNone;
    const auto found = all.find(ns);
    here = flyball::Matches(*namespace_selector, found == all.end() ? kNone : found->second);
  }
  return here && flyball::Matches(selector, other.metadata.labels);
}

bool Conflict(const HostPort& a, const HostPort& b) {
  if (a.port != b.port || a.protocol != b.protocol) return false;
  return a.ip == b.ip || a.ip == "0.0.0.0" || b.ip == "0.0.0.0";
}

namespace {

// Neither names nor labels can contain these bytes.
std::string LikenessOf(const Pod& pod) {
  std::string out = pod.metadata.namespace_;
  out += pod.metadata.deletion_timestamp ? '\1' : '\0';
  for (const auto& [name, value] : pod.metadata.labels) {
    out += name;
    out += '=';
    out += value;
    out += '\0';
  }
  return out;
}

}  // namespace

PodInfo::PodInfo(std::shared_ptr<const Pod> p) : pod(std::move(p)) {
  const PodSpec& spec = pod->spec;
  priority = spec.priority.value_or(0);
  requests = RequestsOf(spec);
  nonzero_requests = NonZeroRequestsOf(spec);
  for (const Container& container : spec.containers) AddPorts(container, spec.host_network, ports);
  for (const Container& container : spec.init_containers)
    if (container.restart_policy == "Always") AddPorts(container, spec.host_network, ports);
  likeness = LikenessOf(*pod);
  if (!spec.affinity) return;
  if (const auto& affinity = spec.affinity->pod_affinity)
    ReadTerms(*pod, *affinity, required_affinity, preferred_affinity);
  if (const auto& affinity = spec.affinity->pod_anti_affinity)
    ReadTerms(*pod, *affinity, required_anti_affinity, preferred_anti_affinity);
}

}  // namespace flyball::scheduler
