#include "cli/kubectl/apply/prune.h"

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/command/klog.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

// Namespaced kinds first: so they are pruned.
const std::vector<std::string>& DefaultKinds() {
  static const std::vector<std::string> kKinds{"core/v1/ConfigMap",
                                               "core/v1/Endpoints",
                                               "core/v1/PersistentVolumeClaim",
                                               "core/v1/Pod",
                                               "core/v1/ReplicationController",
                                               "core/v1/Secret",
                                               "core/v1/Service",
                                               "batch/v1/Job",
                                               "batch/v1/CronJob",
                                               "networking.k8s.io/v1/Ingress",
                                               "apps/v1/DaemonSet",
                                               "apps/v1/Deployment",
                                               "apps/v1/ReplicaSet",
                                               "apps/v1/StatefulSet",
                                               "core/v1/Namespace",
                                               "core/v1/PersistentVolume"};
  return kKinds;
}

Result<KindRef> KindOf(Session& session, const std::string& entry) {
  const auto parts = SplitText(entry, '/');
  if (parts.size() != 3)
    return Unexpected(
        LocalError("invalid GroupVersionKind format: " + entry + ", please follow <group/version/kind>"));
  return session.mapper().ForKind(parts[0] == "core" ? "" : parts[0], parts[1], parts[2]);
}

Status AddPrunable(Session& session, const PruneScope& scope, const KindRef& kind, const std::string& ns,
                   const std::set<std::string>& uids, std::vector<Prunable>& out) {
  FLYBALL_ASSIGN(auto items, ListObjects(session, kind, ns, scope.label_selector));
  for (json::Value& item : items)
    if (LastAppliedIn(item).is_string() &&
        !uids.contains(std::string(std::as_const(item)["metadata"]["uid"].string_or(""))))
      out.push_back({kind, std::move(item)});
  return {};
}

}  // namespace

Status CheckAllowlist(Session& session, const PruneScope& scope) {
  for (const std::string& entry : scope.allowlist) FLYBALL_TRY(KindOf(session, entry));
  return {};
}

Result<std::vector<Prunable>> FindPrunable(Session& session, const PruneScope& scope,
                                           const std::set<std::string>& namespaces,
                                           const std::set<std::string>& uids) {
  if (scope.allowlist.empty())
    LogLine(session.clock(), "prune.go:71",
            "Deprecated: kubectl apply will no longer prune non-namespaced resources by default when used "
            "with the --namespace flag in a future release. To preserve the current behaviour, list the "
            "resources you want to target explicitly in the --prune-allowlist flag.",
            'W');
  std::vector<KindRef> namespaced, global;
  for (const std::string& entry : scope.allowlist.empty() ? DefaultKinds() : scope.allowlist) {
    FLYBALL_ASSIGN(KindRef kind, KindOf(session, entry));
    (kind.namespaced ? namespaced : global).push_back(std::move(kind));
  }
  std::vector<Prunable> out;
  for (const std::string& ns : namespaces)
    for (const KindRef& kind : namespaced) FLYBALL_TRY(AddPrunable(session, scope, kind, ns, uids, out));
  for (const KindRef& kind : global) FLYBALL_TRY(AddPrunable(session, scope, kind, "", uids, out));
  return out;
}

}  // namespace flyball::cli
