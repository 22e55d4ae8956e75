#include "server/flow/flow_schema.h"

#include <algorithm>
#include <tuple>

namespace flyball::server {
namespace {

std::vector<std::string> SchemaStrings(const json::Value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const auto& item : list.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

bool Lists(const std::vector<std::string>& list, std::string_view item) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& i) { return i == "*" || i == item; });
}

bool ListsPath(const std::vector<std::string>& list, std::string_view path) {
  return std::any_of(list.begin(), list.end(), [&](std::string_view i) {
    return i == path || i == "*" || (i.ends_with("/*") && path.starts_with(i.substr(0, i.size() - 1)));
  });
}

}  // namespace

PriorityLevel PriorityLevel::From(const json::Value& object) {
  PriorityLevel level;
  level.name = object["metadata"]["name"].string_or("");
  level.uid = object["metadata"]["uid"].string_or("");
  const auto& spec = object["spec"];
  level.exempt = spec["type"].string_or("") == "Exempt";
  const auto& limited = spec["limited"];
  level.shares = static_cast<int>(
      (level.exempt ? spec["exempt"] : limited)["nominalConcurrencyShares"].int_or(level.exempt ? 0 : 30));
  const auto& response = limited["limitResponse"];
  level.queues = response["type"].string_or("") == "Queue";
  const auto& queuing = response["queuing"];
  const auto length = static_cast<int>(queuing["queueLengthLimit"].int_or(50));
  level.hand_size = std::max(1, static_cast<int>(queuing["handSize"].int_or(8)));
  level.queue_length = length * level.hand_size;
  level.max_waiting = length * static_cast<int>(queuing["queues"].int_or(64));
  return level;
}

FlowSchema FlowSchema::From(const json::Value& object) {
  FlowSchema schema;
  schema.name_ = object["metadata"]["name"].string_or("");
  schema.uid_ = object["metadata"]["uid"].string_or("");
  const auto& spec = object["spec"];
  schema.level_ = spec["priorityLevelConfiguration"]["name"].string_or("");
  schema.precedence_ = static_cast<int>(spec["matchingPrecedence"].int_or(1000));
  schema.distinguisher_ = spec["distinguisherMethod"]["type"].string_or("");
  if (!spec["rules"].is_array()) return schema;
  for (const auto& item : spec["rules"].as_array()) {
    Rule rule;
    if (item["subjects"].is_array())
      for (const auto& subject : item["subjects"].as_array()) {
        const std::string kind(subject["kind"].string_or(""));
        const auto& who = subject[kind == "User" ? "user" : kind == "Group" ? "group" : "serviceAccount"];
        rule.subjects.push_back(
            {kind, std::string(who["name"].string_or("")), std::string(who["namespace"].string_or(""))});
      }
    if (item["resourceRules"].is_array())
      for (const auto& r : item["resourceRules"].as_array())
        rule.resources.push_back({SchemaStrings(r["verbs"]), SchemaStrings(r["apiGroups"]),
                                  SchemaStrings(r["resources"]), SchemaStrings(r["namespaces"]),
                                  r["clusterScope"].bool_or(false)});
    if (item["nonResourceRules"].is_array())
      for (const auto& r : item["nonResourceRules"].as_array())
        rule.paths.push_back({SchemaStrings(r["verbs"]), SchemaStrings(r["nonResourceURLs"])});
    schema.rules_.push_back(std::move(rule));
  }
  return schema;
}

bool FlowSchema::Subject::Is(const User& user) const {
  if (kind == "User") return name == "*" || name == user.name;
  if (kind == "Group") return name == "*" || user.InGroup(name);
  const std::string prefix = std::string(kServiceAccountPrefix) + namespace_name + ":";
  if (!user.name.starts_with(prefix)) return false;
  return name == "*" || user.name.substr(prefix.size()) == name;
}

bool FlowSchema::ResourceRule::Matches(const RequestInfo& info) const {
  const std::string what = info.subresource.empty() ? info.resource : info.resource + "/" + info.subresource;
  if (!Lists(verbs, info.verb) || !Lists(groups, info.group) || !Lists(resources, what)) return false;
  return info.namespace_name.empty() ? cluster_scope : Lists(namespaces, info.namespace_name);
}

bool FlowSchema::PathRule::Matches(const RequestInfo& info) const {
  return Lists(verbs, info.verb) && ListsPath(paths, info.path);
}

bool FlowSchema::Matches(const User& user, const RequestInfo& info) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    const bool who = std::any_of(rule.subjects.begin(), rule.subjects.end(),
                                 [&](const Subject& subject) { return subject.Is(user); });
    if (!who) return false;
    const auto fits = [&](const auto& part) { return part.Matches(info); };
    return info.is_resource ? std::any_of(rule.resources.begin(), rule.resources.end(), fits)
                            : std::any_of(rule.paths.begin(), rule.paths.end(), fits);
  });
}

std::string FlowSchema::FlowOf(const User& user, const RequestInfo& info) const {
  if (distinguisher_ == "ByUser") return name_ + "/" + user.name;
  if (distinguisher_ == "ByNamespace") return name_ + "/" + info.namespace_name;
  return name_;
}

std::vector<FlowSchema> SortedFlowSchemas(std::vector<FlowSchema> schemas) {
  std::sort(schemas.begin(), schemas.end(), [](const FlowSchema& a, const FlowSchema& b) {
    return std::tuple(a.precedence(), std::string_view(a.name())) <
           std::tuple(b.precedence(), std::string_view(b.name()));
  });
  return schemas;
}

}  // namespace flyball::server
