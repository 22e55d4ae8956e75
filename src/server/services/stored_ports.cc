#include "server/services/stored_ports.h"

#include "api/values/base64.h"
#include "base/observe/log.h"
#include "json/json.h"

namespace flyball::server {
namespace {

constexpr char kPortsKey[] = "/registry/ranges/servicenodeports";
constexpr Duration kFollowPause = std::chrono::seconds(1);

json::Value NewRangeAllocation() {
  return json::Object{{"kind", "RangeAllocation"}, {"apiVersion", "v1"}, {"metadata", json::Object{}}};
}

}  // namespace

class StoredPorts::Follower final : public store::WatchSink, public std::enable_shared_from_this<Follower> {
 public:
  Follower(store::Store& store, Executor& executor, PortRange port_range)
      : range(port_range), store_(store), executor_(executor) {}

  // The watch begins first, so nothing falls between it and the read.
  Status Follow() {
    auto watch = store_.WatchPrefix(kPortsKey, 0, this);
    FLYBALL_ASSIGN(auto found, store_.Get(kPortsKey));
    if (found) Keep(*found);
    MutexLock lock(mu_);
    if (!closed_) watch_.swap(watch);
    return {};
  }
  void Close() {
    std::unique_ptr<store::Watch> watch;  // goes when the lock is free again
    MutexLock lock(mu_);
    closed_ = true;
    watch_.swap(watch);
  }
  store::KeyValue stored() const {
    MutexLock lock(mu_);
    return stored_;
  }

  void OnEvents(const std::vector<store::Event>& events) override {
    for (const auto& event : events)
      if (event.kv.key == kPortsKey) Keep(event.kv);
  }
  void OnProgress(store::Revision) override {}
  void OnError(const Error& error) override {
    log::Warning("the watch on the node ports in use ended and begins again", {{"error", error.message()}});
    FollowLater();
  }

  const PortRange range;

 private:
  void FollowLater() {
    executor_.PostAfter(kFollowPause, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && !self->Follow()) self->FollowLater();
    });
  }
  void Keep(const store::KeyValue& kv) {
    MutexLock lock(mu_);
    if (kv.mod_revision > stored_.mod_revision) stored_ = kv;
  }

  store::Store& store_;
  Executor& executor_;
  mutable Mutex mu_;
  store::KeyValue stored_ FLYBALL_GUARDED_BY(mu_);  // of a deletion: no value
  std::unique_ptr<store::Watch> watch_ FLYBALL_GUARDED_BY(mu_);
  bool closed_ FLYBALL_GUARDED_BY(mu_) = false;
};

Result<std::unique_ptr<StoredPorts>> StoredPorts::Open(store::Store& store, Executor& executor,
                                                       PortRange range) {
  auto follower = std::make_shared<Follower>(store, executor, range);
  FLYBALL_TRY(follower->Follow());
  return std::unique_ptr<StoredPorts>(new StoredPorts(std::move(follower)));
}

StoredPorts::~StoredPorts() {
  follower_->Close();
}

StoredPorts::State StoredPorts::state() const {
  const store::KeyValue stored = follower_->stored();
  State state{PortBitmap(follower_->range)};
  if (!stored.value) return state;
  state.revision = stored.mod_revision;
  const auto object = json::Parse(*stored.value);
  state.same_range = object && (*object)["range"].string_or("") == follower_->range.ToString();
  std::string bytes;
  std::size_t bad = 0;
  if (state.same_range && api::DecodeBase64((*object)["data"].string_or(""), bytes, bad))
    state.ports = PortBitmap::FromBytes(follower_->range, bytes);
  return state;
}

store::Operation StoredPorts::Replace(const State& seen, const PortBitmap& ports) const {
  json::Value object = NewRangeAllocation();
  object["range"] = ports.range().ToString();
  object["data"] = api::EncodeBase64(ports.ToBytes());
  const auto precondition =
      seen.revision == 0 ? store::Precondition::Absent() : store::Precondition::ModRevision(seen.revision);
  return {kPortsKey, MakeBytes(json::Write(object)), precondition};
}

}  // namespace flyball::server
