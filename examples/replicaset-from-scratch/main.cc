// The textbook control loop: as many Pods as a ReplicaSet asks for, no more, no fewer. Everything upstream's
// controller is known for is here: owner references, adoption by selector, counting, ranking what goes first,
// status; what it needs expectations for, the SDK does by itself (a reconcile never runs on a cache older
// than its own writes). See README.md.
#include <flyball/sdk.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace flyball;  // NOLINT(google-build-using-namespace): the SDK is what this program is made of

using PodPtr = std::shared_ptr<const Pod>;

bool IsReady(const Pod& pod) {
  return IsConditionTrue(pod.status.conditions, "Ready");
}

// Those that count: neither finished nor on their way out.
bool IsActive(const Pod& pod) {
  return !IsDeleting(pod.metadata) && pod.status.phase != "Succeeded" && pod.status.phase != "Failed";
}

// The Pods of its namespace that are ours: owned by us, or matching and nobody's, which are adopted.
Result<std::vector<PodPtr>> Claim(const ReplicaSet& rs, Context& ctx) {
  FLYBALL_ASSIGN(const auto selector, api::LabelSelector::FromObject(ToJson(rs.spec)["selector"]));
  ControllerRefManager<ReplicaSet, Pod> claims(ctx.client(), rs, [&selector](const Pod& pod) {
    return selector.Matches(ToJson(pod.metadata)["labels"]);
  });
  std::vector<PodPtr> active;
  for (PodPtr& pod : ctx.lister<Pod>().List(rs.metadata.namespace_))
    if (IsActive(*pod)) active.push_back(std::move(pod));
  return claims.Claim(active);
}

Status CreatePods(const ReplicaSet& rs, Context& ctx, int count) {
  Pod pod{.metadata = rs.spec.template_.metadata, .spec = rs.spec.template_.spec};
  pod.metadata.generate_name = rs.metadata.name + "-";
  pod.metadata.namespace_ = rs.metadata.namespace_;
  pod.metadata.owner_references = {ControllerRefTo(rs)};
  // 1, then 2, then 4 ...: a server that refuses one is not asked a thousand times.
  return SlowStartEach(count,
                       [&](int) -> Status {
                         FLYBALL_ASSIGN(const Pod made, ctx.client().Create(pod));
                         ctx.recorder().Normal(rs, "SuccessfulCreate", "Created pod: " + made.metadata.name);
                         return {};
                       })
      .status;
}

// Those that serve nobody go first, then the youngest.
bool GoesFirst(const PodPtr& a, const PodPtr& b) {
  const auto rank = [](const Pod& pod) {
    return std::tuple(!pod.spec.node_name.empty(), pod.status.phase == "Running", IsReady(pod));
  };
  if (rank(*a) != rank(*b)) return rank(*a) < rank(*b);
  return a->metadata.creation_timestamp > b->metadata.creation_timestamp;
}

Status DeletePods(const ReplicaSet& rs, Context& ctx, std::vector<PodPtr> pods, std::size_t count) {
  std::sort(pods.begin(), pods.end(), GoesFirst);
  pods.resize(count);
  for (const PodPtr& pod : pods) {
    const Status gone = ctx.client().Delete(*pod);
    if (!gone && !gone.error().Is(Reason::kNotFound)) return gone;
    ctx.recorder().Normal(rs, "SuccessfulDelete", "Deleted pod: " + pod->metadata.name);
  }
  return {};
}

Status WriteStatus(const ReplicaSet& rs, Context& ctx, const std::vector<PodPtr>& pods) {
  ReplicaSet updated = rs;
  updated.status.replicas = static_cast<std::int32_t>(pods.size());
  updated.status.ready_replicas = static_cast<std::int32_t>(
      std::count_if(pods.begin(), pods.end(), [](const PodPtr& pod) { return IsReady(*pod); }));
  updated.status.available_replicas = updated.status.ready_replicas;
  updated.status.observed_generation = rs.metadata.generation;
  if (updated.status == rs.status) return {};
  FLYBALL_TRY(ctx.client().UpdateStatus(updated));
  return {};
}

// Compares what is with what should be, and takes a step. Every change of the ReplicaSet or of one of its
// Pods, our own included, brings the next one.
Result<Action> Reconcile(const ReplicaSet& rs, Context& ctx) {
  FLYBALL_ASSIGN(const auto pods, Claim(rs, ctx));
  const int missing = rs.spec.replicas.value_or(1) - static_cast<int>(pods.size());
  Status acted;
  if (missing > 0 && !IsDeleting(rs.metadata)) acted = CreatePods(rs, ctx, missing);
  if (missing < 0) acted = DeletePods(rs, ctx, pods, static_cast<std::size_t>(-missing));
  FLYBALL_TRY(WriteStatus(rs, ctx, pods));
  FLYBALL_TRY(acted);
  return Done();
}

// A Pod nobody owns may be somebody's: every ReplicaSet of its namespace looks.
int main(int argc, char** argv) {
  return Main(argc, argv, [](Manager& manager) {
    const auto sets = manager.informers().For<ReplicaSet>();
    return manager.For<ReplicaSet>()
        .Owns<Pod>()
        .Watches<Pod>([sets](const Pod& pod) {
          std::vector<ObjectKey> keys;
          if (ControllerOf(pod)) return keys;
          for (const auto& rs : sets.lister().List(pod.metadata.namespace_))
            keys.push_back({rs->metadata.namespace_, rs->metadata.name});
          return keys;
        })
        .Workers(4)
        .Reconcile(&Reconcile);
  });
}
