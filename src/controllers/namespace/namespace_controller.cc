#include "controllers/namespace/namespace_controller.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/types/core.h"
#include "controller/objects/owner.h"
#include "controller/objects/served_kinds.h"
#include "controller/objects/write_status.h"
#include "controllers/namespace/content_deletion.h"

namespace flyball::controllers {
namespace {

constexpr char kFinalizer[] = "kubernetes";
// The rest waits for its own finalizers. Nothing notifies us when they are done, so check again.
constexpr Duration kLookAgain = std::chrono::seconds(2);

std::string Join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

// "configmaps. has 1 resource instances, pods. has 2 resource instances"
std::string Counts(const std::map<std::string, int>& counts, const std::string& verb) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts)
    parts.push_back(what + " " + verb + " " + std::to_string(count) + " resource instances");
  return Join(parts);
}

NamespaceCondition Condition(const char* type, bool holds, const char* reason, std::string message) {
  NamespaceCondition condition;
  condition.type = type;
  condition.status = holds ? "True" : "False";
  condition.reason = reason;
  condition.message = std::move(message);
  return condition;
}

std::vector<NamespaceCondition> ConditionsOf(const Remaining& left) {
  std::vector<NamespaceCondition> out;
  out.push_back(Condition("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
                          "All resources successfully discovered"));
  out.push_back(Condition("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
                          "All legacy kube types successfully parsed"));
  out.push_back(left.failures.empty()
                    ? Condition("NamespaceDeletionContentFailure", false, "ContentDeleted",
                                "All content successfully deleted, may be waiting on finalization")
                    : Condition("NamespaceDeletionContentFailure", true, "ContentDeletionFailed",
                                "Failed to delete all resource types, " +
                                    std::to_string(left.failures.size()) +
                                    " remaining: " + Join(left.failures)));
  out.push_back(left.objects.empty()
                    ? Condition("NamespaceContentRemaining", false, "ContentRemoved",
                                "All content successfully removed")
                    : Condition("NamespaceContentRemaining", true, "SomeResourcesRemain",
                                "Some resources are remaining: " + Counts(left.objects, "has")));
  out.push_back(left.finalizers.empty()
                    ? Condition("NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers",
                                "All content-preserving finalizers finished")
                    : Condition("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain",
                                "Some content in the namespace has finalizers remaining: " +
                                    Counts(left.finalizers, "in")));
  return out;
}

Result<Namespace> Report(const Namespace& ns, const Remaining& left, Context& ctx) {
  Namespace updated = ns;
  updated.status.phase = "Terminating";
  for (NamespaceCondition& condition : ConditionsOf(left))
    SetCondition(updated.status.conditions, std::move(condition), api::Time::From(ctx.Now()));
  if (updated.status == ns.status) return ns;
  return WriteStatus(ctx.client(), updated);
}

Result<Action> ReconcileNamespace(const Namespace& ns, ServedKinds& kinds, Context& ctx) {
  if (!IsDeleting(ns.metadata)) return Done();
  const auto& finalizers = ns.spec.finalizers;
  if (std::find(finalizers.begin(), finalizers.end(), kFinalizer) == finalizers.end()) return Done();
  FLYBALL_ASSIGN(const std::vector<ApiResource> served, kinds.Deletable());
  const Remaining left = DeleteContent(ctx.client(), served, ns.metadata.name);
  FLYBALL_ASSIGN(Namespace reported, Report(ns, left, ctx));
  if (!left.nothing()) return RequeueAfter(kLookAgain);
  std::erase(reported.spec.finalizers, kFinalizer);
  WriteParams finalize;
  finalize.subresource = "finalize";
  const auto done = ctx.client().Update(reported, finalize);
  if (!done && !done.error().Is(Reason::kNotFound)) return Unexpected(done.error());
  return Done();
}

}  // namespace

Status AddNamespaceController(Manager& manager, int workers) {
  const auto kinds = ServedKinds::Make(manager);
  return manager.For<Namespace>()
      .Named("namespace-controller")
      .Workers(workers)
      .Reconcile([kinds](const Namespace& ns, Context& ctx) {
        auto result = ReconcileNamespace(ns, *kinds, ctx);
        if (!result && result.error().Is(Reason::kNotFound)) return Result<Action>(Done());
        return result;
      });
}

}  // namespace flyball::controllers
