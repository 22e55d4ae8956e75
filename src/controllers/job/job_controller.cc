#include "controllers/job/job_controller.h"

#include "api/types/batch.h"
#include "api/types/core.h"
#include "controller/objects/owner.h"
#include "controller/objects/ownership.h"
#include "controllers/job/job_sync.h"

namespace flyball::controllers {
namespace {

// The Job that controls a pod; for an orphan, the Job it was created for (to release it), or any that may
// adopt it.
std::vector<ObjectKey> JobsOf(const Lister<Job>& jobs, const Pod& pod) {
  std::vector<ObjectKey> keys = OwnersOf(jobs, pod);
  if (!ControllerOf(pod) && HasFinalizer(pod.metadata, kJobTracking))
    if (const auto name = pod.metadata.labels.find(kJobNameLabel); name != pod.metadata.labels.end())
      keys.push_back({pod.metadata.namespace_, name->second});
  return keys;
}

Result<Action> ReconcileJob(const ObjectKey& key, Context& ctx) {
  const auto job = ctx.lister<Job>().Get(key);
  FLYBALL_TRY(ReleaseLeftPods(key, job ? job->metadata.uid : "", ctx));
  if (!job) return Done();
  // Managed by another controller.
  if (job->spec.managed_by && *job->spec.managed_by != "kubernetes.io/job-controller") return Done();
  auto result = JobSync(*job, ctx).Run();
  if (!result && result.error().Is(Reason::kNotFound)) return Done();
  return result;
}

std::optional<api::Time> FinishedAt(const Job& job) {
  for (const JobCondition& condition : job.status.conditions)
    if ((condition.type == "Complete" || condition.type == "Failed") && condition.status == "True")
      return condition.last_transition_time;
  return std::nullopt;
}

Result<Action> ReconcileTtl(const Job& job, Context& ctx) {
  const auto finished = FinishedAt(job);
  if (!job.spec.ttl_seconds_after_finished || !finished || IsDeleting(job.metadata)) return Done();
  const Duration left =
      finished->ToTimePoint() + std::chrono::seconds(*job.spec.ttl_seconds_after_finished) - ctx.Now();
  if (left > Duration::zero()) return RequeueAfter(left);
  // The cache may be behind: the TTL may have been raised in the meantime.
  const auto fresh = ctx.client().Get<Job>(job.metadata.namespace_, job.metadata.name);
  if (!fresh) return fresh.error().Is(Reason::kNotFound) ? Result<Action>(Done()) : Unexpected(fresh.error());
  if (fresh->spec.ttl_seconds_after_finished != job.spec.ttl_seconds_after_finished) return Requeue();
  DeleteParams params;
  params.propagation_policy = "Foreground";
  params.uid = job.metadata.uid;
  const Status deleted = ctx.client().Delete(job, params);
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  return Done();
}

}  // namespace

Status AddJobController(Manager& manager, int workers) {
  FLYBALL_TRY(AddOwnerIndex<Pod>(manager.informers()));
  const auto jobs = manager.informers().For<Job>().lister();
  return manager.For<Job>()
      .Named("job-controller")
      .Watches<Pod>([jobs](const Pod& pod) { return JobsOf(jobs, pod); })
      .Workers(workers)
      .Reconcile(&ReconcileJob);
}

Status AddTtlAfterFinishedController(Manager& manager, int workers) {
  return manager.For<Job>().Named("ttl-after-finished-controller").Workers(workers).Reconcile(&ReconcileTtl);
}

}  // namespace flyball::controllers
