// The rows of the bootstrap policy: roles every cluster starts with, in a short notation
// (bootstrap_policy.cc).
#pragma once

#include <string_view>
#include <vector>

#include "json/value.h"

namespace flyball::server {

struct RoleRow {
  std::string_view name;
  // `verbs / groups / resources [/ names]`, comma-separated; `-` is the core group; `url verbs / paths`.
  std::vector<std::string_view> rules;
  std::string_view aggregate_to = {};    // "view": the role's rules belong to the role view too
  std::string_view namespace_name = {};  // of a Role; empty: a ClusterRole
};

// One a controller of kube-controller-manager: system:controller:<name>, bound to its service account in
// kube-system.
const std::vector<RoleRow>& ControllerRoles();
// Roles in kube-system and kube-public.
const std::vector<RoleRow>& NamespacedRoles();

// The ClusterRoles, ClusterRoleBindings, Roles and RoleBindings every cluster starts with.
std::vector<json::Value> BootstrapPolicy();

}  // namespace flyball::server
