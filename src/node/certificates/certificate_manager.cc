#include "node/certificates/certificate_manager.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/observe/log.h"
#include "base/run/notification.h"

namespace flyball::node {
namespace {

constexpr Duration kPatience = std::chrono::minutes(15);
// Timers stand still while a machine sleeps; certificates go by the clock on the wall.
constexpr Duration kLookAtClock = std::chrono::hours(12);
constexpr Duration kFirstRetry = std::chrono::seconds(1);
constexpr Duration kLastRetry = std::chrono::minutes(5);

double Fraction(Random& random) {
  return static_cast<double>(random.Next() % 1'000'000) / 1e6;
}

const CertificateSigningRequestCondition* FindDecision(const CertificateSigningRequest& csr,
                                                       std::string_view type) {
  for (const auto& condition : csr.status.conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

net::CertificateRequest NodeSubject(const std::string& node_name) {
  return {.common_name = "system:node:" + node_name, .organizations = {"system:nodes"}};
}

}  // namespace

CertificateOptions NodeClientCertificate(const std::string& node_name, std::string file) {
  return {.signer_name = "kubernetes.io/kube-apiserver-client-kubelet",
          .usages = {"digital signature", "client auth"},
          .subject = NodeSubject(node_name),
          .file = std::move(file)};
}

CertificateOptions NodeServingCertificate(const std::string& node_name, const std::string& address,
                                          std::string file) {
  CertificateOptions options{.signer_name = "kubernetes.io/kubelet-serving",
                             .usages = {"digital signature", "server auth"},
                             .subject = NodeSubject(node_name),
                             .file = std::move(file)};
  options.subject.dns_names = {node_name};
  options.subject.ip_addresses = {address};
  return options;
}

TimePoint RenewalTime(const net::CertificateInfo& certificate, Random& random) {
  const auto life = std::chrono::duration<double>(certificate.not_after - certificate.not_before);
  return certificate.not_before + std::chrono::duration_cast<Duration>(life * (0.7 + 0.2 * Fraction(random)));
}

CertificateManager::CertificateManager(CertificateOptions options, std::function<Client()> client,
                                       std::function<void(const net::KeyPair&)> use)
    : options_(std::move(options)),
      file_(options_.file),
      client_(std::move(client)),
      use_(std::move(use)),
      runtime_(client_().runtime()),
      strand_(runtime_.executor) {}

void CertificateManager::OnStrand(UniqueFunction<void(CertificateManager&)> fn) {
  strand_.Post([weak = weak_from_this(), fn = std::move(fn)] {
    if (const auto self = weak.lock(); self && self->state_ != State::kStopped) fn(*self);
  });
}

TimerId CertificateManager::After(Duration delay, UniqueFunction<void(CertificateManager&)> fn) {
  return strand_.PostAfter(delay, [weak = weak_from_this(), round = round_, fn = std::move(fn)] {
    const auto self = weak.lock();
    if (self && self->state_ != State::kStopped && self->round_ == round) fn(*self);
  });
}

void CertificateManager::Start() {
  OnStrand([](CertificateManager& self) {
    if (!self.UseKept()) self.Request();
  });
}

void CertificateManager::Stop() {
  auto done = std::make_shared<Notification<bool>>();
  strand_.Post([self = shared_from_this(), done] {
    self->EndWatch();
    self->state_ = State::kStopped;
    done->Set(true);
  });
  if (runtime_.may_block) done->Wait();
}

bool CertificateManager::UseKept() {
  const auto kept = file_.Load();
  if (!kept) return false;
  const auto info = net::ParseCertificate(kept->certificate_pem);
  const TimePoint now = strand_.clock().Now();
  // Names and addresses may be others than last time.
  if (!info || now < info->not_before || now >= info->not_after ||
      info->common_name != options_.subject.common_name || info->dns_names != options_.subject.dns_names ||
      info->ip_addresses != options_.subject.ip_addresses)
    return false;
  Use(*kept, *info);
  return true;
}

void CertificateManager::Use(const net::KeyPair& pair, const net::CertificateInfo& info) {
  ++round_;
  state_ = State::kIdle;
  failures_ = 0;
  use_(pair);
  RequestAt(RenewalTime(info, runtime_.random));
}

void CertificateManager::RequestAt(TimePoint when) {
  const Duration left = when - strand_.clock().Now();
  if (left <= Duration::zero()) return Request();
  After(std::min(left, kLookAtClock), [when](CertificateManager& self) { self.RequestAt(when); });
}

void CertificateManager::Request() {
  ++round_;
  state_ = State::kSending;
  const auto pending = net::MakeCertificateRequest(options_.subject);
  if (!pending) return Retry(pending.error().message());
  private_key_pem_ = pending->private_key_pem;
  Csr csr;
  csr.metadata.generate_name = "csr-";
  csr.spec.request = pending->request_pem;
  csr.spec.signer_name = options_.signer_name;
  csr.spec.usages = options_.usages;
  json::Value body = ToJson(csr);
  SetTypeMeta(body, KindRefOf<Csr>());
  client_().Of<Csr>().CreateAsync(
      std::move(body), {}, [weak = weak_from_this(), round = round_](const Result<json::Value>& created) {
        const auto self = weak.lock();
        if (!self) return;
        self->OnStrand([created, round](CertificateManager& manager) {
          if (manager.round_ == round) manager.Sent(created);
        });
      });
}

void CertificateManager::Sent(const Result<json::Value>& created) {
  if (!created) return Retry(created.error().message());
  state_ = State::kPending;
  Watch(std::string((*created)["metadata"]["name"].string_or("")));
  After(kPatience, [](CertificateManager& self) { self.Retry("nobody has answered the request"); });
}

void CertificateManager::Watch(const std::string& name) {
  informers_ = std::make_unique<InformerFactory>(client_(), FactoryOptions{.drop_managed_fields = true});
  const auto changed = [weak = weak_from_this(), round = round_](const std::shared_ptr<const Csr>& csr) {
    const auto self = weak.lock();
    if (!self) return;
    self->OnStrand([csr, round](CertificateManager& manager) {
      if (manager.round_ == round && manager.state_ == State::kPending) manager.Changed(*csr);
    });
  };
  EventHandler<Csr> handler;
  handler.on_add = [changed](const std::shared_ptr<const Csr>& csr, bool) { changed(csr); };
  handler.on_update = [changed](const std::shared_ptr<const Csr>&, const std::shared_ptr<const Csr>& csr) {
    changed(csr);
  };
  handler_ = informers_->For<Csr>({.field_selector = "metadata.name=" + name}).AddHandler(std::move(handler));
  informers_->Start();
}

void CertificateManager::EndWatch() {
  if (handler_) handler_->Remove();
  handler_.reset();
  if (informers_) informers_->Stop();
  // Its events may be on their way through it: it goes when this has returned.
  if (informers_)
    strand_.Post([ended = std::shared_ptr<InformerFactory>(std::move(informers_))] { (void)ended; });
}

void CertificateManager::Changed(const Csr& csr) {
  for (const char* type : {"Denied", "Failed"})
    if (const auto* decision = FindDecision(csr, type))
      return Retry("request " + csr.metadata.name + " " + type + ": " + decision->reason + " " +
                   decision->message);
  if (csr.status.certificate.empty() || !FindDecision(csr, "Approved")) return;
  const net::KeyPair pair{csr.status.certificate, private_key_pem_};
  const auto info = net::ParseCertificate(pair.certificate_pem);
  if (!info || !net::IsKeyOf(pair.private_key_pem, pair.certificate_pem))
    return Retry("request " + csr.metadata.name + " got a certificate of another key");
  EndWatch();
  state_ = State::kSaving;
  // Waits for the disk, which the strand's executor must not.
  runtime_.worker_executor().Post([self = shared_from_this(), pair, info = *info] {
    const Status saved = self->file_.Save(pair);
    self->OnStrand([pair, info, saved](CertificateManager& manager) { manager.Saved(saved, pair, info); });
  });
}

void CertificateManager::Saved(const Status& saved, const net::KeyPair& pair,
                               const net::CertificateInfo& info) {
  if (!saved) return Retry("the certificate cannot be kept: " + saved.error().message());
  log::Info("certificate issued", {{"signer", options_.signer_name}, {"name", options_.subject.common_name}});
  Use(pair, info);
}

void CertificateManager::Retry(const std::string& why) {
  EndWatch();
  ++round_;
  state_ = State::kIdle;
  log::Warning("no certificate yet, will ask again",
               {{"signer", options_.signer_name}, {"name", options_.subject.common_name}, {"error", why}});
  const double seconds = std::chrono::duration<double>(kFirstRetry).count() *
                         std::ldexp(1.0 + 0.1 * Fraction(runtime_.random), std::min(failures_++, 30));
  const auto delay = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(seconds, std::chrono::duration<double>(kLastRetry).count())));
  After(delay, [](CertificateManager& self) { self.Request(); });
}

}  // namespace flyball::node
