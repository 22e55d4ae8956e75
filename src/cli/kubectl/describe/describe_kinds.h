// Descriptions, kind by kind; kinds without their own get all their fields.
#pragma once

#include <string>

#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct Description {
  std::string text;    // with tabs, for DescriptionWriter
  bool events = true;  // to be followed by the events
};
Description Describe(Session& session, const json::Value& object);

// One file a family.
std::string DeploymentText(Session& session, const json::Value& object);
std::string ReplicaSetText(Session& session, const json::Value& object);
std::string JobText(Session& session, const json::Value& object);
std::string NodeText(Session& session, const json::Value& object);
std::string ServiceText(Session& session, const json::Value& object);
std::string ConfigMapText(const json::Value& object);
std::string SecretText(const json::Value& object);
std::string RoleText(const json::Value& object);
std::string GenericText(const json::Value& object);

}  // namespace flyball::cli
