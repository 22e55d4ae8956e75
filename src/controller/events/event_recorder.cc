#include "controller/events/event_recorder.h"

#include <atomic>
#include <cstdio>
#include <deque>
#include <utility>

#include "api/values/time.h"
#include "base/observe/log.h"
#include "base/run/executor.h"
#include "controller/events/event_correlator.h"

namespace flyball {
namespace {

// As upstream: an event that cannot be delivered is retried this often, at this interval, and then dropped.
constexpr int kAttempts = 12;
constexpr Duration kRetryAfter = std::chrono::seconds(10);

const KindRef& EventKind() {
  static const KindRef kind{"", "v1", "Event", "events", true};
  return kind;
}

json::Value Reference(const EventTarget& target, const std::string& ns) {
  json::Object ref{
      {"kind", target.kind.kind}, {"apiVersion", target.kind.ApiVersion()}, {"name", target.name}};
  if (!target.ns.empty()) ref.Set("namespace", ns);
  if (!target.uid.empty()) ref.Set("uid", target.uid);
  if (!target.resource_version.empty()) ref.Set("resourceVersion", target.resource_version);
  if (!target.field_path.empty()) ref.Set("fieldPath", target.field_path);
  return json::Value(std::move(ref));
}

}  // namespace

// Everything but the counters belongs to the strand.
struct EventRecorder::State : std::enable_shared_from_this<State> {
  State(Client c, std::string comp, std::string h)
      : client(std::move(c)),
        component(std::move(comp)),
        host(std::move(h)),
        strand(client.runtime().executor) {}

  struct Incoming {
    EventTarget target;
    std::string type, reason, message;
  };
  // One request to the server.
  struct Outgoing {
    json::Value event;   // whole, for a create
    bool patch = false;  // already on the server: only count and times change
    int attempts_left = kAttempts;
  };

  void Accept(Incoming in) {
    const SteadyTime now = client.runtime().clock().Steady();
    const EventIdentity identity{
        in.target.kind.kind + '/' + in.target.ns + '/' + in.target.name + '/' + in.target.uid, in.type,
        in.reason};
    auto verdict = correlator.Consider(identity, in.message, now);
    if (!verdict) {
      ++dropped;
      --pending;
      return;
    }
    const TimePoint wall = client.runtime().clock().Now();
    const std::string stamp = api::FormatTime(wall);
    EventCorrelator::Known& known = *verdict->known;
    const bool again = known.count++ > 0;
    if (!again) {
      char suffix[24];
      std::snprintf(suffix, sizeof suffix, ".%llx",
                    static_cast<unsigned long long>(wall.time_since_epoch().count()) + ++serial);
      known.name = in.target.name + suffix;
      known.first_timestamp = stamp;
    }
    outgoing.push_back({MakeEvent(in, known, verdict->message, stamp), again});
    SendNext();
  }

  json::Value MakeEvent(const Incoming& in, const EventCorrelator::Known& known, const std::string& message,
                        const std::string& stamp) const {
    // Events of cluster-scoped objects are in the namespace "default".
    const std::string ns = in.target.ns.empty() ? "default" : in.target.ns;
    json::Object source{{"component", component}};
    if (!host.empty()) source.Set("host", host);
    return json::Value(json::Object{
        {"metadata", json::Object{{"name", known.name}, {"namespace", ns}}},
        {"involvedObject", Reference(in.target, ns)},
        {"reason", in.reason},
        {"message", message},
        {"source", std::move(source)},
        {"firstTimestamp", known.first_timestamp},
        {"lastTimestamp", stamp},
        {"count", known.count},
        {"type", in.type},
        {"reportingComponent", component},
        {"reportingInstance", host},
    });
  }

  // One request at a time, so that events stay in order.
  void SendNext() {
    if (sending || outgoing.empty()) return;
    sending = true;
    const Outgoing& out = outgoing.front();
    const auto done = [self = shared_from_this()](Result<json::Value> result) {
      self->strand.Post([self, result = std::move(result)] { self->OnSent(result); });
    };
    const DynamicClient events = client.Dynamic(EventKind());
    if (!out.patch) return events.CreateAsync(out.event, {}, done);
    const json::Value& event = out.event;
    const json::Value patch(json::Object{
        {"count", event["count"]}, {"lastTimestamp", event["lastTimestamp"]}, {"message", event["message"]}});
    events.PatchAsync(event["metadata"]["namespace"].string_or(""), event["metadata"]["name"].string_or(""),
                      PatchType::kMerge, patch, {}, done);
  }

  void OnSent(const Result<json::Value>& result) {
    sending = false;
    Outgoing& out = outgoing.front();
    if (!result && out.patch && result.error().Is(Reason::kNotFound)) {
      out.patch = false;  // expired in the meantime
      return SendNext();
    }
    const bool transient = !result && (result.error().IsRetryable() || result.error().code() >= 500);
    if (transient && --out.attempts_left > 0) {
      sending = true;
      strand.PostAfter(kRetryAfter, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
          self->sending = false;
          self->SendNext();
        }
      });
      return;
    }
    if (!result) {
      ++dropped;
      log::Debug("event not recorded", {{"error", result.error().ToString()}});
    }
    outgoing.pop_front();
    --pending;
    SendNext();
  }

  const Client client;
  const std::string component, host;
  Strand strand;
  EventCorrelator correlator;
  std::deque<Outgoing> outgoing;
  bool sending = false;
  unsigned long long serial = 0;
  std::atomic<std::size_t> pending = 0, dropped = 0;
};

EventRecorder::EventRecorder(Client client, std::string component, std::string host)
    : state_(std::make_shared<State>(std::move(client), std::move(component), std::move(host))) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::Record(const EventTarget& target, std::string_view type, std::string_view reason,
                           std::string_view message) {
  if (state_->pending >= kMaxPending) {
    ++state_->dropped;
    return;
  }
  ++state_->pending;
  State::Incoming in{target, std::string(type), std::string(reason), std::string(message)};
  state_->strand.Post([state = state_, in = std::move(in)]() mutable { state->Accept(std::move(in)); });
}

std::size_t EventRecorder::pending() const {
  return state_->pending;
}
std::size_t EventRecorder::dropped() const {
  return state_->dropped;
}

}  // namespace flyball
