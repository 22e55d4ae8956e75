// RBAC: who may do what, by Roles, ClusterRoles and their bindings; and the Node authoriser for kubelets.
#pragma once

#include <memory>

#include "server/auth/authorization.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// Reads the four RBAC resources from the catalog's caches; rules are compiled when they change.
std::unique_ptr<Authorizer> NewRbacAuthorizer(const Catalog& catalog);

// The rules of a ClusterRole as the authorizer applies them: its own, and those of the roles it aggregates.
json::Array EffectiveRules(const json::Value& cluster_role, const std::vector<ObjectPtr>& all_cluster_roles);

// What a kubelet (user system:node:<name> of group system:nodes) may read: the objects its pods refer to.
// Everything it may do anywhere (its own Node, leases, pod status) comes from the system:node rules it
// carries itself.
std::unique_ptr<Authorizer> NewNodeAuthorizer(const Catalog& catalog);

}  // namespace flyball::server
