// Descriptions per kind; a kind without its own shows all its fields.
#pragma once

#include <string>

#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct Description {
  std::string text;    // with tabs, for DescriptionWriter
  bool events = true;  // whether the events follow
};
Description Describe(Session& session, const json::Value& object);

// One file per family of kinds.
std::string DeploymentText(Session& session, const json::Value& object);
std::string ReplicaSetText(Session& session, const json::Value& object);
std::string ReplicationControllerText(Session& session, const json::Value& object);
std::string DaemonSetText(Session& session, const json::Value& object);
std::string StatefulSetText(Session& session, const json::Value& object);
// How many of the pods that `owner` controls are in which phase; `labels` is its selector.
std::string PodCountLine(Session& session, const json::Value& owner, const json::Value& labels);
std::string WorkloadConditionLines(const json::Value& conditions);
std::string JobText(Session& session, const json::Value& object);
std::string NodeText(Session& session, const json::Value& object);
std::string ServiceText(Session& session, const json::Value& object);
std::string ConfigMapText(const json::Value& object);
std::string SecretText(const json::Value& object);
std::string RoleText(const json::Value& object);
std::string QuotaText(const json::Value& object);
std::string LimitRangeText(const json::Value& object);
std::string DisruptionBudgetText(const json::Value& object);
std::string NamespaceText(Session& session, const json::Value& object);
std::string ServiceAccountText(const json::Value& object);
std::string RoleBindingText(const json::Value& object);
std::string CronJobText(const json::Value& object);
std::string IngressText(Session& session, const json::Value& object);
std::string EndpointsText(const json::Value& object);
std::string ClaimText(Session& session, const json::Value& claim);
std::string GenericText(const json::Value& object);

}  // namespace flyball::cli
