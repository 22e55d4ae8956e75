#include "controllers/cronjob/cronjob_controller.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "api/types/batch.h"
#include "controller/objects/owner.h"
#include "controller/objects/owner_index.h"
#include "controller/objects/write_status.h"
#include "controllers/cronjob/cron_schedule.h"

namespace flyball::controllers {
namespace {

constexpr char kScheduledTimestamp[] = "batch.kubernetes.io/cronjob-scheduled-timestamp";

using JobPtr = std::shared_ptr<const Job>;

// "Complete", "Failed", or "" if it has not finished.
std::string EndOf(const Job& job) {
  for (const char* type : {"Complete", "Failed"})
    if (IsConditionTrue(job.status.conditions, type)) return type;
  return "";
}

// "2024-07-01T09:00:00+02:00", or with Z in UTC.
std::string LocalTime(TimePoint time, const TimeZone& zone) {
  const auto since_epoch = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  const std::int64_t offset = zone.At(since_epoch).offset;
  std::string text = api::FormatTime(time + std::chrono::seconds(offset));
  if (offset == 0) return text;
  char shift[16];
  const auto shifted = static_cast<int>(std::abs(offset) / 60);
  std::snprintf(shift, sizeof shift, "%c%02d:%02d", offset < 0 ? '-' : '+', shifted / 60 % 100, shifted % 60);
  text.pop_back();
  return text + shift;
}

// "Mon, 02 Jan 2006 15:04:05 +0000"
std::string Rfc1123(TimePoint time) {
  const std::time_t since_epoch = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm parts{};
  gmtime_r(&since_epoch, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &parts)};
}

// The last scheduled time, or the creation.
TimePoint LastRun(const CronJob& cron, TimePoint now) {
  const auto since =
      cron.status.last_schedule_time ? cron.status.last_schedule_time : cron.metadata.creation_timestamp;
  return since ? since->ToTimePoint() : now;
}

// How long until the next time, whatever was missed; nothing if there is none.
std::optional<Duration> UntilNext(const CronJob& cron, const CronSchedule& schedule, TimePoint now) {
  const TimePoint last = LastRun(cron, now);
  const auto next = schedule.Next(schedule.MissedSince(last, now).last.value_or(last));
  if (!next) return std::nullopt;
  return std::max<Duration>(*next - now, std::chrono::milliseconds(1));
}

// One reconcile of one CronJob. Confined to it.
class CronJobSync {
 public:
  CronJobSync(const CronJob& cron, Context& ctx)
      : cron_(cron),
        known_(cron.status),
        ctx_(ctx),
        jobs_(ControlledBy(ctx.lister<Job>(), cron.metadata.uid)) {}

  Result<Action> Run() {
    LookAtJobs();
    FLYBALL_TRY(DeleteHistory());
    Result<Action> action = Done();
    if (!IsDeleting(cron_.metadata) && !cron_.spec.suspend.value_or(false)) action = StartIfDue();
    if (cron_.status != known_) FLYBALL_TRY(WriteStatus(ctx_.client(), cron_));
    return action;
  }

 private:
  // Updates status.active from the Jobs.
  void LookAtJobs() {
    for (const JobPtr& job : jobs_) {
      const std::string end = EndOf(*job);
      if (!IsActive(job->metadata.uid)) {
        if (end.empty())
          ctx_.recorder().Warning(
              cron_, "UnexpectedJob",
              "Saw a job that the controller did not create or forgot: " + job->metadata.name);
      } else if (!end.empty()) {
        Deactivate(job->metadata.uid);
        ctx_.recorder().Normal(cron_, "SawCompletedJob",
                               "Saw completed job: " + job->metadata.name + ", condition: " + end);
      }
      if (end == "Complete" && job->status.completion_time &&
          (!cron_.status.last_successful_time ||
           *cron_.status.last_successful_time < *job->status.completion_time))
        cron_.status.last_successful_time = job->status.completion_time;
    }
    std::erase_if(cron_.status.active, [this](const ObjectReference& ref) {
      const bool missing = std::none_of(jobs_.begin(), jobs_.end(),
                                        [&](const JobPtr& job) { return job->metadata.uid == ref.uid; });
      if (missing) ctx_.recorder().Normal(cron_, "MissingJob", "Active job went missing: " + ref.name);
      return missing;
    });
  }

  bool IsActive(const std::string& uid) const {
    return std::any_of(cron_.status.active.begin(), cron_.status.active.end(),
                       [&](const ObjectReference& ref) { return ref.uid == uid; });
  }
  void Deactivate(const std::string& uid) {
    std::erase_if(cron_.status.active, [&](const ObjectReference& ref) { return ref.uid == uid; });
  }

  Result<Action> StartIfDue() {
    const auto zone = TimeZone::Load(cron_.spec.time_zone.value_or(""));
    if (!zone) {
      ctx_.recorder().Warning(
          cron_, "UnknownTimeZone",
          "invalid timeZone: \"" + *cron_.spec.time_zone + "\": " + zone.error().message());
      return Done();
    }
    zone_ = *zone;
    const auto schedule = CronSchedule::Parse(cron_.spec.schedule, *zone);
    if (!schedule) {
      ctx_.recorder().Warning(
          cron_, "UnparseableSchedule",
          "unparseable schedule: \"" + cron_.spec.schedule + "\" : " + schedule.error().message());
      return Done();
    }
    if (!schedule->Next(ctx_.Now())) {
      ctx_.recorder().Warning(cron_, "InvalidSchedule",
                              "invalid schedule: " + cron_.spec.schedule +
                                  " : time difference between two schedules is less than 1 second");
      return Done();
    }
    const auto due = DueTime(*schedule);
    if (due) FLYBALL_TRY(Start(*due));
    const auto next = UntilNext(cron_, *schedule, ctx_.Now());
    return next ? RequeueAfter(*next) : Done();
  }

  // The start of the period to consider: never longer ago than the deadline. @every counts only from the last
  // run.
  TimePoint Earliest(const CronSchedule& schedule) const {
    const auto deadline = cron_.spec.starting_deadline_seconds;
    const TimePoint last = LastRun(cron_, ctx_.Now());
    if (!deadline || schedule.is_interval()) return last;
    return std::max(last, ctx_.Now() - std::chrono::seconds(*deadline));
  }

  // The latest time that has passed and has no Job yet. Earlier missed times are not made up for.
  std::optional<TimePoint> DueTime(const CronSchedule& schedule) {
    const CronSchedule::Missed missed = schedule.MissedSince(Earliest(schedule), ctx_.Now());
    if (missed.many)
      ctx_.recorder().Warning(cron_, "TooManyMissedTimes",
                              "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
                              "check clock skew");
    if (missed.last && IsTooLate(*missed.last)) {
      ctx_.recorder().Warning(cron_, "MissSchedule",
                              "Missed scheduled time to start a job: " + Rfc1123(*missed.last));
      return std::nullopt;
    }
    return missed.last;
  }
  bool IsTooLate(TimePoint due) const {
    const auto deadline = cron_.spec.starting_deadline_seconds;
    return deadline && due + std::chrono::seconds(*deadline) < ctx_.Now();
  }

  Status Start(TimePoint due) {
    if (!cron_.status.active.empty() && cron_.spec.concurrency_policy == "Forbid") {
      ctx_.recorder().Normal(
          cron_, "JobAlreadyActive",
          "Not starting job because prior execution is running and concurrency policy is Forbid");
      return {};
    }
    if (cron_.spec.concurrency_policy == "Replace") FLYBALL_TRY(DeleteActive());
    auto made = ctx_.client().Create(NewJob(due));
    if (!made && made.error().Is(Reason::kAlreadyExists)) {
      // Ours, from an earlier attempt whose status was not written: continue with it.
      made = ctx_.client().Get<Job>(cron_.metadata.namespace_, NewJob(due).metadata.name);
      if (made && !IsControlledBy(*made, cron_)) return {};
    } else if (made) {
      ctx_.recorder().Normal(cron_, "SuccessfulCreate", "Created job " + made->metadata.name);
    }
    if (!made) {
      if (made.error().HasCause("NamespaceTerminating")) return {};
      ctx_.recorder().Warning(cron_, "FailedCreate", "Error creating job: " + made.error().message());
      return Unexpected(made.error());
    }
    if (EndOf(*made).empty() && !IsActive(made->metadata.uid)) cron_.status.active.push_back(RefTo(*made));
    cron_.status.last_schedule_time = api::Time::From(due);
    return {};
  }

  // Named after its time, so the same time never creates two Jobs.
  Job NewJob(TimePoint due) const {
    const auto since_epoch = std::chrono::duration_cast<std::chrono::minutes>(due.time_since_epoch()).count();
    Job job;
    job.metadata = ChildOf(cron_, cron_.metadata.name + "-" + std::to_string(since_epoch));
    job.metadata.labels = cron_.spec.job_template.metadata.labels;
    job.metadata.annotations = cron_.spec.job_template.metadata.annotations;
    job.metadata.annotations[kScheduledTimestamp] = LocalTime(due, zone_);
    job.spec = cron_.spec.job_template.spec;
    return job;
  }

  static ObjectReference RefTo(const Job& job) {
    ObjectReference ref;
    ref.kind = "Job";
    ref.api_version = "batch/v1";
    ref.namespace_ = job.metadata.namespace_;
    ref.name = job.metadata.name;
    ref.uid = job.metadata.uid;
    ref.resource_version = job.metadata.resource_version;
    return ref;
  }

  Status DeleteActive() {
    for (const JobPtr& job : jobs_) {
      if (!IsActive(job->metadata.uid)) continue;
      FLYBALL_TRY(DeleteJob(*job));
    }
    return {};
  }

  Status DeleteHistory() {
    FLYBALL_TRY(DeleteOldest("Complete", cron_.spec.successful_jobs_history_limit));
    return DeleteOldest("Failed", cron_.spec.failed_jobs_history_limit);
  }
  Status DeleteOldest(const std::string& end, std::optional<std::int32_t> limit) {
    if (!limit) return {};
    std::vector<JobPtr> ended;
    for (const JobPtr& job : jobs_)
      if (EndOf(*job) == end && !IsDeleting(job->metadata)) ended.push_back(job);
    std::sort(ended.begin(), ended.end(), [](const JobPtr& a, const JobPtr& b) {
      return std::pair(a->status.start_time, a->metadata.name) <
             std::pair(b->status.start_time, b->metadata.name);
    });
    for (std::size_t i = 0; i + static_cast<std::size_t>(*limit) < ended.size(); ++i)
      FLYBALL_TRY(DeleteJob(*ended[i]));
    return {};
  }

  Status DeleteJob(const Job& job) {
    DeleteParams params;
    params.propagation_policy = "Background";
    const Status deleted = ctx_.client().Delete(job, params);
    if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
    Deactivate(job.metadata.uid);
    ctx_.recorder().Normal(cron_, "SuccessfulDelete", "Deleted job " + job.metadata.name);
    return {};
  }

  CronJob cron_;  // with the status as this reconcile builds it
  const CronJobStatus known_;
  Context& ctx_;
  const std::vector<JobPtr> jobs_;
  TimeZone zone_;
};

bool IsRescheduled(const CronJob& before, const CronJob& now) {
  return before.spec.schedule != now.spec.schedule || before.spec.time_zone != now.spec.time_zone;
}

// A new schedule counts from its next time; times it would have had before are not made up for.
EventHandler<CronJob> LookAtTheNextTime(const std::weak_ptr<Controller>& controller, const Clock& clock) {
  using Ptr = std::shared_ptr<const CronJob>;
  EventHandler<CronJob> handler;
  handler.on_update = [controller, &clock](const Ptr& before, const Ptr& cron) {
    const auto target = controller.lock();
    if (!target || !IsRescheduled(*before, *cron)) return;
    const auto zone = TimeZone::Load(cron->spec.time_zone.value_or(""));
    if (!zone) return;
    const auto schedule = CronSchedule::Parse(cron->spec.schedule, *zone);
    if (!schedule) return;
    if (const auto next = UntilNext(*cron, *schedule, clock.Now()))
      target->EnqueueAfter({cron->metadata.namespace_, cron->metadata.name}, *next);
  };
  return handler;
}

}  // namespace

Status AddCronJobController(Manager& manager, int workers) {
  FLYBALL_TRY(AddOwnerIndex<Job>(manager.informers()));
  Predicates<CronJob> same_schedule;
  same_schedule.update = [](const CronJob& before, const CronJob& now) {
    return !IsRescheduled(before, now);
  };
  std::shared_ptr<Controller> controller;
  FLYBALL_TRY(manager.For<CronJob>()
                  .Named("cronjob-controller")
                  .When(std::move(same_schedule))
                  .Owns<Job>()
                  .Workers(workers)
                  .Reconcile(
                      [](const CronJob& cron, Context& ctx) -> Result<Action> {
                        auto result = CronJobSync(cron, ctx).Run();
                        if (!result && result.error().Is(Reason::kNotFound)) return Done();
                        return result;
                      },
                      &controller));
  controller->DependOn(manager.informers().For<CronJob>().AddHandler(
      LookAtTheNextTime(controller, manager.runtime().clock())));
  return {};
}

}  // namespace flyball::controllers
