#include "server/peers/peers.h"

#include <atomic>
#include <vector>

#include "api/values/time.h"
#include "base/observe/log.h"
#include "base/run/alarm.h"
#include "base/run/notification.h"
#include "crypto/digest.h"
#include "json/json.h"
#include "server/bootstrap/bootstrap.h"
#include "server/bootstrap/kubernetes_service.h"

namespace flyball::server {
namespace {

constexpr std::string_view kEntries = "/registry/masterleases/";
constexpr Duration kRenewInterval = std::chrono::seconds(10);
constexpr Duration kEntryLife = std::chrono::seconds(15);
constexpr std::int64_t kLeaseSeconds = 3600;
constexpr Duration kCleanUpInterval = std::chrono::seconds(kLeaseSeconds);
constexpr const char* kIdentityLabel = "apiserver.kubernetes.io/identity";
constexpr const char* kServerComponent = "kube-apiserver";

// RFC 4648, in small letters, without padding.
std::string Base32(std::string_view bytes) {
  constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";
  std::string text;
  unsigned bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 5; count -= 5) text += kDigits[bits >> (count - 5) & 31];
  }
  if (count > 0) text += kDigits[bits << (5 - count) & 31];
  return text;
}

std::string LengthPrefixed(std::string_view text) {
  return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size())} + std::string(text);
}

}  // namespace

std::string ServerIdentity(const std::string& hostname) {
  constexpr std::size_t kHashBytes = 16;
  crypto::Sha256 hash;
  hash.Update(LengthPrefixed(hostname) + LengthPrefixed(kServerComponent));
  return "apiserver-" + Base32(hash.Finish().substr(0, kHashBytes));
}

// What the timer's callbacks keep alive.
class Peers::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(ServerState& state, PeerOptions options)
      : state_(state),
        options_(std::move(options)),
        holder_(ServerIdentity(options_.hostname) + "_" + state.random.Uuid()),
        alarm_(state.workers ? *state.workers : state.executor, [this] { OnAlarm(); }) {}

  Status Start() {
    FLYBALL_TRY(Renew());
    alarm_.Set(state_.clock().Steady() + kRenewInterval);
    return {};
  }

  void Stop() {
    if (stopped_.exchange(true)) return;
    alarm_.Close();
    if (const Status left = Leave(); !left)
      log::Warning("this server could not take itself out of the cluster's endpoints; it will be in 15 s",
                   {{"error", left.error().message()}});
  }

 private:
  void OnAlarm() {
    if (const Status renewed = Renew(); !renewed)
      log::Warning("this server could not say that it is alive", {{"error", renewed.error().message()}});
    alarm_.Set(state_.clock().Steady() + kRenewInterval);
  }

  Status Renew() {
    FLYBALL_TRY(PutEntry());
    FLYBALL_TRY(Reconcile(true));
    FLYBALL_TRY(RenewLease());
    const SteadyTime now = state_.clock().Steady();
    if (cleaned_up_ != SteadyTime() && now - cleaned_up_ < kCleanUpInterval) return {};
    cleaned_up_ = now;
    return CleanUpLeases();
  }

  // Ends by itself when it is not renewed.
  Status PutEntry() {
    const json::Value entry = json::Object{
        {"kind", "Endpoints"},
        {"apiVersion", "v1"},
        {"metadata", json::Object{{"generation", ++generation_}}},
        {"subsets",
         json::Array{json::Object{{"addresses", json::Array{json::Object{{"ip", options_.address}}}}}}}};
    return Commit({OwnKey(), MakeBytes(json::Write(entry)), store::Precondition::Any(), kEntryLife});
  }

  // The endpoints are those with an entry. If they are already, another server's port in them is left alone.
  Status Reconcile(bool with_this) {
    FLYBALL_ASSIGN(const auto entries, state_.store.Range(kEntries));
    std::vector<std::string> addresses;
    for (const auto& kv : entries.items) addresses.push_back(kv.key.substr(kEntries.size()));
    if (addresses.empty() && with_this) addresses.push_back(options_.address);
    if (addresses.empty() || (told_ && addresses == ToldAddresses())) return {};
    FLYBALL_TRY(
        EnsureObjects(state_, KubernetesEndpoints(addresses, options_.port), Existing::kBringUpToDate));
    told_ = true;
    log::Info("the cluster's API servers are others than before",
              {{"endpoints", json::Write(json::Array(addresses.begin(), addresses.end()))}});
    return {};
  }

  // As the Endpoints say.
  std::vector<std::string> ToldAddresses() const {
    const auto object = state_.catalog.Find("", "v1", "endpoints")
                            ->cache->Get(ServedResource::CacheKey("default", "kubernetes"));
    std::vector<std::string> addresses;
    if (!object) return addresses;
    const auto value = object->ToValue();
    const auto& subsets = value["subsets"];
    if (subsets.empty()) return addresses;
    const auto& list = subsets.as_array()[0]["addresses"];
    for (std::size_t i = 0; i < list.size(); ++i)
      addresses.emplace_back(list.as_array()[i]["ip"].string_or(""));
    return addresses;
  }

  Status RenewLease() {
    const json::Value lease = json::Object{
        {"apiVersion", "coordination.k8s.io/v1"},
        {"kind", "Lease"},
        {"metadata", json::Object{{"name", ServerIdentity(options_.hostname)},
                                  {"namespace", "kube-system"},
                                  {"labels", json::Object{{kIdentityLabel, kServerComponent},
                                                          {"kubernetes.io/hostname", options_.hostname}}}}},
        {"spec", json::Object{{"holderIdentity", holder_},
                              {"leaseDurationSeconds", kLeaseSeconds},
                              {"renewTime", api::FormatMicroTime(api::Time::From(state_.clock().Now()))}}}};
    return EnsureObjects(state_, {lease}, Existing::kBringUpToDate);
  }

  Status CleanUpLeases() {
    const auto leases = state_.catalog.Find("coordination.k8s.io", "v1", "leases");
    for (const auto& object : leases->cache->List({.namespace_name = "kube-system"}).objects) {
      const auto lease = object->ToValue();
      if (lease["metadata"]["labels"][kIdentityLabel].string_or("") != kServerComponent) continue;
      const auto renewed = api::ParseMicroTime(lease["spec"]["renewTime"].string_or(""));
      const auto life = std::chrono::seconds(lease["spec"]["leaseDurationSeconds"].int_or(0));
      if (renewed && renewed->ToTimePoint() + life >= state_.clock().Now()) continue;
      FLYBALL_TRY(Commit({leases->Key("kube-system", object->name()), nullptr,
                          store::Precondition::ModRevision(object->revision())}));
    }
    return {};
  }

  Status Leave() {
    FLYBALL_TRY(state_.store.Health());  // who waits for a store that is gone waits long
    FLYBALL_TRY(Commit({OwnKey(), nullptr, store::Precondition::Any()}));
    return Reconcile(false);
  }

  std::string OwnKey() const { return std::string(kEntries) + options_.address; }

  // That the precondition does not hold is no failure: somebody else was faster.
  Status Commit(store::Operation operation) {
    store::Transaction transaction;
    transaction.push_back(std::move(operation));
    const auto done = std::make_shared<Notification<Status>>();
    state_.store.Commit(std::move(transaction), [done](Result<store::CommitOutcome> outcome) {
      done->Set(outcome ? Status() : Unexpected(outcome.error()));
    });
    return done->Wait();
  }

  ServerState& state_;
  const PeerOptions options_;
  const std::string holder_;
  std::int64_t generation_ = 0;
  bool told_ = false;  // this server has written the endpoints once, so that they have its port
  SteadyTime cleaned_up_{};
  std::atomic<bool> stopped_{false};
  Alarm alarm_;  // its callback, one at a time, uses what is above
};

Peers::Peers(ServerState& state, PeerOptions options)
    : core_(std::make_shared<Core>(state, std::move(options))) {}

Peers::~Peers() {
  Stop();
}

Status Peers::Start() {
  return core_->Start();
}

void Peers::Stop() {
  core_->Stop();
}

}  // namespace flyball::server
