#include "node/volumes/pod_fields.h"

#include "json/json.h"

namespace flyball::node {
namespace {

std::string KeyIn(const std::string& path, const char* prefix) {
  const std::string begin = std::string(prefix) + "['";
  if (!path.starts_with(begin) || !path.ends_with("']")) return {};
  return path.substr(begin.size(), path.size() - begin.size() - 2);
}

std::string Lines(const std::map<std::string, std::string>& map) {
  std::string text;
  for (const auto& [key, value] : map) {
    text += (text.empty() ? "" : "\n") + key + "=";
    json::AppendQuoted(value, text);
  }
  return text;
}

std::string First(const std::vector<std::string>& texts) {
  return texts.empty() ? std::string() : texts.front();
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
  return all;
}

}  // namespace

std::string FieldValue(const Pod& pod, const PodAddresses& addresses, const std::string& path) {
  if (path == "metadata.name") return pod.metadata.name;
  if (path == "metadata.namespace") return pod.metadata.namespace_;
  if (path == "metadata.uid") return pod.metadata.uid;
  if (path == "metadata.labels") return Lines(pod.metadata.labels);
  if (path == "metadata.annotations") return Lines(pod.metadata.annotations);
  if (path == "spec.nodeName") return pod.spec.node_name;
  if (path == "spec.serviceAccountName") return pod.spec.service_account_name;
  if (path == "status.podIP") return First(addresses.pod_ips);
  if (path == "status.podIPs") return Joined(addresses.pod_ips);
  if (path == "status.hostIP") return First(addresses.host_ips);
  if (path == "status.hostIPs") return Joined(addresses.host_ips);
  const auto find = [](const std::map<std::string, std::string>& in, const std::string& key) {
    const auto found = in.find(key);
    return found == in.end() ? std::string() : found->second;
  };
  if (const std::string key = KeyIn(path, "metadata.labels"); !key.empty())
    return find(pod.metadata.labels, key);
  if (const std::string key = KeyIn(path, "metadata.annotations"); !key.empty())
    return find(pod.metadata.annotations, key);
  return {};
}

std::string ResourceValue(const Container& container, const ResourceFieldSelector& ref,
                          const NodeAllocatable& allocatable) {
  const bool limit = ref.resource.starts_with("limits.");
  const std::string name = ref.resource.substr(ref.resource.find('.') + 1);
  const auto& amounts = limit ? container.resources.limits : container.resources.requests;
  const auto divided = [&](const api::Quantity& amount) {
    const double divisor = ref.divisor.IsZero() ? 1 : ref.divisor.ToDouble();
    // Rounded up, as upstream.
    const double parts = amount.ToDouble() / divisor;
    const auto whole = static_cast<std::int64_t>(parts);
    return std::to_string(static_cast<double>(whole) < parts ? whole + 1 : whole);
  };
  if (const auto found = amounts.find(name); found != amounts.end()) return divided(found->second);
  const auto there = allocatable.find(name);
  return limit && there != allocatable.end() ? divided(there->second) : "0";
}

const Container* ContainerOf(const Pod& pod, const ResourceFieldSelector& ref, const Container* own) {
  if (ref.container_name.empty()) return own;
  for (const auto* list : {&pod.spec.containers, &pod.spec.init_containers})
    for (const Container& container : *list)
      if (container.name == ref.container_name) return &container;
  return nullptr;
}

}  // namespace flyball::node
