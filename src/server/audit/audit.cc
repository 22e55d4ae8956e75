#include "server/audit/audit.h"

#include "base/observe/log.h"
#include "json/json.h"
#include "server/audit/audit_batch.h"
#include "server/audit/audit_event.h"
#include "server/audit/audit_log.h"
#include "server/audit/audit_webhook.h"

namespace flyball::server {
namespace {

Counter& ErrorCounter(Metrics& metrics, const char* plugin) {
  return metrics.GetCounter(
      "apiserver_audit_error_total",
      "Counter of audit events that failed to be audited properly. Plugin identifies the "
      "plugin affected by the error.",
      {{"plugin", plugin}});
}

// Writes each event to the file before the request goes on.
class LogBackend final : public AuditBackend {
 public:
  LogBackend(std::unique_ptr<AuditLog> log, const AuditLogOptions& options, Metrics& metrics)
      : log_(std::move(log)),
        legacy_(options.format == "legacy"),
        strict_(options.batch.mode == "blocking-strict"),
        failed_(ErrorCounter(metrics, "log")) {}

  bool Write(const AuditEntry& entry) {
    const Status written = log_->Append(legacy_ ? LegacyAuditLine(entry.event) : *entry.text);
    if (written) return true;
    failed_.Add();
    log::Error("an audit event was not recorded", {{"error", written.error().message()}});
    return false;
  }
  void Process(AuditEntryPtr entry, UniqueFunction<void(bool)> done) override {
    const bool written = Write(*entry);
    done(written || !strict_);
  }

 private:
  const std::unique_ptr<AuditLog> log_;
  const bool legacy_, strict_;
  Counter& failed_;
};

// Sends each event before the request goes on.
class WebhookBackend final : public AuditBackend {
 public:
  WebhookBackend(std::unique_ptr<AuditWebhook> webhook, bool strict)
      : webhook_(std::move(webhook)), strict_(strict) {}

  void Process(AuditEntryPtr entry, UniqueFunction<void(bool)> done) override {
    webhook_->Send({std::move(entry)},
                   [strict = strict_, done = std::move(done)](bool sent) mutable { done(sent || !strict); });
  }

 private:
  const std::unique_ptr<AuditWebhook> webhook_;
  const bool strict_;
};

}  // namespace

std::unique_ptr<Audit> Audit::Off() {
  return std::unique_ptr<Audit>(new Audit(AuditPolicy()));
}

Audit::~Audit() = default;

Result<std::unique_ptr<Audit>> Audit::Make(const AuditOptions& options, const Clock& clock, Random& random,
                                           Metrics& metrics) {
  FLYBALL_TRY(CheckAuditOptions(options));
  AuditPolicy policy;
  if (!options.policy_file.empty()) {
    FLYBALL_ASSIGN(policy, AuditPolicy::Load(options.policy_file));
  }
  std::unique_ptr<Audit> audit(new Audit(std::move(policy)));
  if (!options.enabled()) return audit;
  audit->events_ = &metrics.GetCounter("apiserver_audit_event_total",
                                       "Counter of audit events generated and sent to the audit backend.");
  for (const auto level :
       {AuditLevel::kNone, AuditLevel::kMetadata, AuditLevel::kRequest, AuditLevel::kRequestResponse})
    audit->levels_.push_back(&metrics.GetCounter("apiserver_audit_level_total",
                                                 "Counter of policy levels for audit events (1 per request).",
                                                 {{"level", std::string(AuditLevelName(level))}}));
  const bool threaded = !options.webhook.config_file.empty() || options.log.batch.mode == "batch";
  if (threaded) audit->thread_ = std::make_unique<ThreadPool>("audit", 1);
  if (!options.log.path.empty()) FLYBALL_TRY(audit->AddLog(options.log, clock, metrics));
  if (!options.webhook.config_file.empty()) FLYBALL_TRY(audit->AddWebhook(options.webhook, random, metrics));
  // Files and addresses are checked all the same, as upstream does.
  if (options.policy_file.empty()) {
    log::Warning("no audit policy file provided, no audit events will be recorded");
    audit->outlets_.clear();
  }
  return audit;
}

Audit::Outlet Audit::MakeOutlet(std::unique_ptr<AuditBackend> backend, const AuditTruncateOptions& truncate,
                                Metrics& metrics) const {
  const std::size_t limit = truncate.enabled ? static_cast<std::size_t>(truncate.max_event_size) : kMaxEvent;
  return {std::move(backend), limit, &ErrorCounter(metrics, "truncate")};
}

Status Audit::AddLog(const AuditLogOptions& options, const Clock& clock, Metrics& metrics) {
  FLYBALL_ASSIGN(auto log, AuditLog::Open(options, clock));
  std::unique_ptr<AuditBackend> backend;
  auto direct = std::make_unique<LogBackend>(std::move(log), options, metrics);
  if (options.batch.mode == "batch") {
    std::shared_ptr<LogBackend> writer = std::move(direct);
    const auto write = [writer](const AuditBatchEntries& batch, UniqueFunction<void(bool)> done) {
      for (const AuditEntryPtr& entry : batch) writer->Write(*entry);
      done(true);
    };
    backend = std::make_unique<AuditBatch>(options.batch, options.truncate.max_batch_size, *thread_, metrics,
                                           write);
  } else {
    backend = std::move(direct);
  }
  outlets_.push_back(MakeOutlet(std::move(backend), options.truncate, metrics));
  return {};
}

Status Audit::AddWebhook(const AuditWebhookOptions& options, Random& random, Metrics& metrics) {
  FLYBALL_ASSIGN(auto webhook, AuditWebhook::Make(options, *thread_, random, metrics));
  std::unique_ptr<AuditBackend> backend;
  if (options.batch.mode == "batch") {
    std::shared_ptr<AuditWebhook> sender = std::move(webhook);
    const auto send = [sender](const AuditBatchEntries& batch, UniqueFunction<void(bool)> done) {
      sender->Send(batch, std::move(done));
    };
    backend = std::make_unique<AuditBatch>(options.batch, options.truncate.max_batch_size, *thread_, metrics,
                                           send, [sender] { sender->Abort(); });
  } else {
    backend = std::make_unique<WebhookBackend>(std::move(webhook), options.batch.mode == "blocking-strict");
  }
  outlets_.push_back(MakeOutlet(std::move(backend), options.truncate, metrics));
  return {};
}

AuditDecision Audit::Decide(const AuthorizationAttributes& attributes) const {
  const AuditDecision decision = policy_.Decide(attributes);
  levels_[static_cast<std::size_t>(decision.level)]->Add();
  return decision;
}

AuditEntryPtr Audit::MakeEntry(json::Value event) const {
  events_->Add();
  Bytes text = MakeBytes(json::Write(event));
  return std::make_shared<const AuditEntry>(AuditEntry{std::move(event), std::move(text)});
}

AuditEntryPtr Audit::Fit(const AuditEntryPtr& entry, const Outlet& outlet) {
  if (entry->text->size() <= outlet.max_event) return entry;
  json::Value event = entry->event;
  TruncateAuditEvent(event);
  Bytes text = MakeBytes(json::Write(event));
  if (text->size() > outlet.max_event) {
    outlet.dropped->Add();
    return nullptr;
  }
  return std::make_shared<const AuditEntry>(AuditEntry{std::move(event), std::move(text)});
}

void Audit::SubmitUnawaited(json::Value event) const {
  const AuditEntryPtr entry = MakeEntry(std::move(event));
  for (const Outlet& outlet : outlets_)
    if (AuditEntryPtr fitting = Fit(entry, outlet)) outlet.backend->Process(std::move(fitting), [](bool) {});
}

Task<bool> Audit::Submit(json::Value event, Executor& resume) const {
  const AuditEntryPtr entry = MakeEntry(std::move(event));
  bool recorded = true;
  for (const Outlet& outlet : outlets_) {
    AuditEntryPtr fitting = Fit(entry, outlet);
    if (!fitting) continue;
    auto start = [&](UniqueFunction<void(bool)> done) { outlet.backend->Process(fitting, std::move(done)); };
    auto processed = Callback<bool>(resume, std::move(start));
    const bool here = co_await processed;
    recorded = recorded && here;
  }
  co_return recorded;
}

}  // namespace flyball::server
