// The bodies of FakeApiServer.
#pragma once

#include "client/testing/fake_api_server.h"

namespace flyball::testing {

// One watch: frames wait here and are delivered in order on a strand.
class FakeApiServer::Watch final : public net::Call, public std::enable_shared_from_this<Watch> {
 public:
  Watch(FakeApiServer& server, std::shared_ptr<net::ResponseSink> sink, std::string collection_in,
        std::string ns_in)
      : collection(std::move(collection_in)),
        ns(std::move(ns_in)),
        executor_(server.executor_),
        sink_(std::move(sink)),
        strand_(server.executor_) {}

  void Begin() {
    Do([](net::ResponseSink& sink) { sink.OnHead(200, {{"content-type", "application/json"}}); });
  }
  void Send(std::string frame, bool split, Duration delay) {
    if (delay > Duration::zero()) {
      // Everything behind it waits too: a stream keeps its order.
      stalled_until_ = std::max(stalled_until_, executor_.clock().Steady() + delay);
    }
    DoAt(stalled_until_, [frame = std::move(frame), split](net::ResponseSink& sink) {
      const std::size_t half = split ? frame.size() / 2 : frame.size();
      sink.OnData(std::string_view(frame).substr(0, half));
      if (half < frame.size()) sink.OnData(std::string_view(frame).substr(half));
    });
  }
  void End() {
    DoLast([](net::ResponseSink& sink) { sink.OnEnd(); });
  }
  void Break(const std::string& rest) {
    DoLast([rest](net::ResponseSink& sink) {
      if (!rest.empty()) sink.OnData(rest);
      sink.OnError(Error(Reason::kConnection, "connection cut"));
    });
  }
  void Cancel() override {
    DoLast([](net::ResponseSink& sink) { sink.OnError(Error(Reason::kCancelled, "cancelled")); });
  }
  void Pause() override {}
  void Resume() override {}
  bool ended() {
    MutexLock lock(mu_);
    return ended_;
  }

  const std::string collection, ns;

 private:
  using Step = std::function<void(net::ResponseSink&)>;
  void Do(Step step) { DoAt({}, std::move(step)); }
  void DoAt(SteadyTime when, Step step) {
    MutexLock lock(mu_);
    if (ended_) return;
    steps_.push_back({when, std::move(step)});
    Schedule(when);
  }
  // Overtakes what waits: a broken connection does.
  void DoLast(Step step) {
    MutexLock lock(mu_);
    if (std::exchange(ended_, true)) return;
    steps_.push_back({SteadyTime{}, std::move(step)});
    last_ = true;
    Schedule({});
  }
  void Schedule(SteadyTime when) {
    auto run = [self = shared_from_this()] { self->RunOne(); };
    if (when > executor_.clock().Steady())
      strand_.PostAt(when, std::move(run));
    else
      strand_.Post(std::move(run));
  }
  void RunOne() {
    Step step;
    {
      MutexLock lock(mu_);
      if (steps_.empty()) return;
      const bool final_step = last_;
      auto it = final_step ? steps_.end() - 1 : steps_.begin();
      if (!final_step && it->when > executor_.clock().Steady()) return;
      step = std::move(it->step);
      steps_.erase(it);
      if (final_step) steps_.clear();
    }
    step(*sink_);
  }

  struct Planned {
    SteadyTime when;
    Step step;
  };
  Executor& executor_;
  const std::shared_ptr<net::ResponseSink> sink_;
  Strand strand_;
  SteadyTime stalled_until_{};
  Mutex mu_;
  std::deque<Planned> steps_ FLYBALL_GUARDED_BY(mu_);
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
  bool last_ FLYBALL_GUARDED_BY(mu_) = false;
};

class FakeApiServer::AnsweredCall final : public net::Call {
 public:
  void Cancel() override {}
  void Pause() override {}
  void Resume() override {}
};

inline std::shared_ptr<net::Call> FakeApiServer::Start(net::Request request,
                                                       std::shared_ptr<net::ResponseSink> sink) {
  const FakeRequest parsed = FakeRequest::Parse(request);
  net::Response response;
  std::optional<Error> broken;
  bool cut = false;
  std::shared_ptr<Watch> watch;
  {
    MutexLock lock(mu_);
    requests_.push_back(request);
    const auto canned = std::find_if(canned_.begin(), canned_.end(), [&](const Canned& c) {
      return c.verb == request.method && request.target.find(c.target_part) != std::string::npos;
    });
    if (canned != canned_.end()) {
      response = canned->response;
      canned_.erase(canned);
    } else if (down_ || Chance(faults_.refuse)) {
      broken = Error(Reason::kConnection, "connection refused");
    } else if (Chance(faults_.overload)) {
      response = Fail(Error(Reason::kTooManyRequests, "slow down"));
    } else if (Chance(faults_.unavailable)) {
      response = Fail(InternalError("out of order"));
    } else if (parsed.Query("watch") == "true" && parsed.name.empty()) {
      if (std::stoull("0" + parsed.Query("resourceVersion")) < compacted_ &&
          parsed.Query("sendInitialEvents") != "true")
        response = Fail(Error(Reason::kExpired, "too old resource version"));
      else if (parsed.Query("sendInitialEvents") == "true" && !streaming_lists_)
        response = Fail(Error(Reason::kInvalid, "sendInitialEvents is forbidden for watch"));
      else
        watch = OpenWatch(parsed, sink);
    } else {
      response = Handle(parsed);
      cut = parsed.verb == "GET" && parsed.name.empty() && Chance(faults_.cut_list);
    }
  }
  if (watch) return watch;
  if (broken) {
    sink->OnError(*broken);
    return std::make_shared<AnsweredCall>();
  }
  sink->OnHead(response.status, response.headers);
  if (cut) {
    sink->OnData(std::string_view(response.body).substr(0, response.body.size() / 2));
    sink->OnError(Error(Reason::kConnection, "connection cut"));
  } else {
    sink->OnData(response.body);
    sink->OnEnd();
  }
  return std::make_shared<AnsweredCall>();
}

inline std::shared_ptr<FakeApiServer::Watch> FakeApiServer::OpenWatch(
    const FakeRequest& request, std::shared_ptr<net::ResponseSink> sink) {
  auto watch = std::make_shared<Watch>(*this, std::move(sink), request.collection, request.ns);
  watch->Begin();
  std::erase_if(watches_, [](const auto& w) { return w.expired() || w.lock()->ended(); });
  watches_.push_back(watch);
  if (request.Query("sendInitialEvents") == "true") {
    for (const auto& [key, object] : objects_[request.collection])
      if (request.ns.empty() || object["metadata"]["namespace"].string_or("") == request.ns)
        watch->Send("{\"type\":\"ADDED\",\"object\":" + json::Write(object) + "}\n", false, {});
    json::Object meta{{"resourceVersion", std::to_string(version_)},
                      {"annotations", json::Object{{"k8s.io/initial-events-end", "true"}}}};
    watch->Send("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":" + json::Write(json::Value(meta)) + "}}\n",
                false, {});
    return watch;
  }
  const std::uint64_t from = std::stoull("0" + request.Query("resourceVersion"));
  for (const Event& event : history_)
    if (event.version > from && event.collection == watch->collection &&
        (watch->ns.empty() || watch->ns == event.ns))
      watch->Send(event.frame, Chance(faults_.split), {});
  return watch;
}

inline net::Response FakeApiServer::Handle(const FakeRequest& request) {
  if (request.verb == "POST") return Create(request);
  if (request.verb == "GET" && request.name.empty()) return List(request);
  if (request.verb == "PATCH") return Patch(request);
  const auto& collection = objects_[request.collection];
  const auto found = collection.find(request.key());
  if (found == collection.end())
    return Fail(Error(Reason::kNotFound, 404, "\"" + request.name + "\" not found", {.name = request.name}));
  if (request.verb == "GET") return Ok(found->second);
  if (request.verb == "PUT") return Update(request);
  return Delete(request);
}

inline net::Response FakeApiServer::List(const FakeRequest& request) {
  const std::uint64_t wanted = std::stoull("0" + request.Query("resourceVersion"));
  if (wanted > version_) return Fail(Error(Reason::kTimeout, "Too large resource version"));
  json::Array items;
  for (const auto& [key, object] : objects_[request.collection])
    if (request.ns.empty() || object["metadata"]["namespace"].string_or("") == request.ns)
      items.push_back(object);
  for (std::size_t i = items.size(); i > 0; --i)
    if (Chance(faults_.duplicate_items)) items.push_back(items[i - 1]);
  if (Chance(faults_.shuffle_lists))
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random_.Below(i)]);
  json::Object meta{{"resourceVersion", std::to_string(version_)}};
  const std::size_t limit = std::stoull("0" + request.Query("limit"));
  const std::size_t skip = std::stoull("0" + request.Query("continue"));
  items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(skip, items.size())));
  // As upstream: a list of anything cached ignores the limit.
  if (limit > 0 && items.size() > limit && request.Query("resourceVersion") != "0") {
    items.resize(limit);
    meta.Set("continue", std::to_string(skip + limit));
  }
  return Ok(json::Value(json::Object{
      {"kind", "List"}, {"apiVersion", "v1"}, {"metadata", std::move(meta)}, {"items", std::move(items)}}));
}

inline net::Response FakeApiServer::Create(const FakeRequest& request) {
  auto object = json::Parse(request.body);
  if (!object) return Fail(object.error());
  json::Value& meta = (*object)["metadata"];
  if (!request.ns.empty()) meta["namespace"] = request.ns;
  if (std::as_const(meta)["name"].is_null())
    meta["name"] = std::string(std::as_const(meta)["generateName"].string_or("")) + random_.NameSuffix();
  const std::string name(std::as_const(meta)["name"].string_or(""));
  const std::string key = request.ns.empty() ? name : request.ns + "/" + name;
  if (objects_[request.collection].contains(key))
    return Fail(Error(Reason::kAlreadyExists, "\"" + name + "\" already exists"));
  return Ok(Store(request.collection, std::move(*object)), 201);
}

inline net::Response FakeApiServer::Update(const FakeRequest& request) {
  auto object = json::Parse(request.body);
  if (!object) return Fail(object.error());
  const json::Value& old = objects_[request.collection][request.key()];
  const json::Value& given = std::as_const(*object)["metadata"]["resourceVersion"];
  if (!given.is_null() && !(given == old["metadata"]["resourceVersion"]))
    return Fail(Error(Reason::kConflict, "the object has been modified"));
  (*object)["metadata"]["uid"] = old["metadata"]["uid"];
  if (request.subresource == "status") {
    json::Value kept = old;
    kept["status"] = std::as_const(*object)["status"];
    *object = std::move(kept);
  }
  return Ok(Store(request.collection, std::move(*object)));
}

inline net::Response FakeApiServer::Patch(const FakeRequest& request) {
  auto patch = json::Parse(request.body);
  if (!patch) return Fail(patch.error());
  const bool apply = request.content_type == "application/apply-patch+yaml";
  auto& collection = objects_[request.collection];
  const auto found = collection.find(request.key());
  if (found == collection.end() && !apply) return Fail(Error(Reason::kNotFound, "not found"));
  const json::Value old = found == collection.end() ? json::Value(json::Object{}) : found->second;
  const json::Value& given = std::as_const(*patch)["metadata"]["resourceVersion"];
  if (!given.is_null() && !(given == old["metadata"]["resourceVersion"]))
    return Fail(Error(Reason::kConflict, "the object has been modified"));
  json::Value merged = json::ApplyMergePatch(old, *patch);
  if (merged == old) return Ok(old);
  return Ok(Store(request.collection, std::move(merged)));
}

inline net::Response FakeApiServer::Delete(const FakeRequest& request) {
  json::Value object = objects_[request.collection][request.key()];
  const auto options = json::Parse(request.body);
  if (options) {
    const json::Value& uid = (*options)["preconditions"]["uid"];
    if (!uid.is_null() && !(uid == std::as_const(object)["metadata"]["uid"]))
      return Fail(Error(Reason::kConflict, "the UID differs"));
  }
  if (!std::as_const(object)["metadata"]["finalizers"].empty()) {
    object["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z";
    return Ok(Store(request.collection, std::move(object)));
  }
  Erase(request.collection, request.key());
  return Ok(object);
}

inline json::Value FakeApiServer::Store(const std::string& collection, json::Value object) {
  json::Value& meta = object["metadata"];
  const std::string ns(std::as_const(meta)["namespace"].string_or(""));
  const std::string name(std::as_const(meta)["name"].string_or(""));
  const std::string key = ns.empty() ? name : ns + "/" + name;
  if (std::as_const(meta)["uid"].is_null()) meta["uid"] = random_.Uuid();
  meta["resourceVersion"] = std::to_string(++version_);
  auto& slot = objects_[collection][key];
  const bool fresh = slot.is_null();
  slot = object;
  Publish(fresh ? "ADDED" : "MODIFIED", collection, object);
  const bool finished =
      !std::as_const(meta)["deletionTimestamp"].is_null() && std::as_const(meta)["finalizers"].empty();
  if (finished) Erase(collection, key);
  return object;
}

inline void FakeApiServer::Erase(const std::string& collection, const std::string& key) {
  json::Value object = std::move(objects_[collection][key]);
  objects_[collection].erase(key);
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  Publish("DELETED", collection, object);
}

inline void FakeApiServer::Publish(const std::string& type, const std::string& collection,
                                   const json::Value& object) {
  const std::string ns(object["metadata"]["namespace"].string_or(""));
  const std::string frame = "{\"type\":\"" + type + "\",\"object\":" + json::Write(object) + "}\n";
  history_.push_back({version_, collection, ns, frame});
  for (const auto& weak : watches_) {
    const auto watch = weak.lock();
    if (!watch || watch->collection != collection || (!watch->ns.empty() && watch->ns != ns)) continue;
    if (Chance(faults_.cut_watch)) {
      watch->Break(random_.OneIn(2) ? frame.substr(0, frame.size() / 2) : "");
      continue;
    }
    const Duration delay =
        Chance(faults_.slow) ? std::chrono::milliseconds(random_.Below(10000)) : Duration{};
    watch->Send(frame, Chance(faults_.split), delay);
  }
}

inline json::Value FakeApiServer::Put(const std::string& collection, json::Value object) {
  MutexLock lock(mu_);
  return Store(collection, std::move(object));
}

inline void FakeApiServer::Remove(const std::string& collection, const std::string& ns,
                                  const std::string& name) {
  MutexLock lock(mu_);
  const std::string key = ns.empty() ? name : ns + "/" + name;
  if (objects_[collection].contains(key)) Erase(collection, key);
}

inline std::map<std::string, std::string> FakeApiServer::Versions(const std::string& collection) {
  std::map<std::string, std::string> out;
  MutexLock lock(mu_);
  for (const auto& [key, object] : objects_[collection])
    out[key] = object["metadata"]["resourceVersion"].string_or("");
  return out;
}

inline std::optional<json::Value> FakeApiServer::Find(const std::string& collection, const std::string& ns,
                                                      const std::string& name) {
  MutexLock lock(mu_);
  const auto& all = objects_[collection];
  const auto it = all.find(ns.empty() ? name : ns + "/" + name);
  if (it == all.end()) return std::nullopt;
  return it->second;
}

inline void FakeApiServer::SetDown(bool down) {
  {
    MutexLock lock(mu_);
    down_ = down;
  }
  if (down) CutWatches();
}

inline void FakeApiServer::CutWatches() {
  std::vector<std::weak_ptr<Watch>> watches;
  {
    MutexLock lock(mu_);
    watches.swap(watches_);
  }
  for (const auto& weak : watches)
    if (const auto watch = weak.lock()) watch->Break("");
}

inline void FakeApiServer::Compact() {
  MutexLock lock(mu_);
  compacted_ = version_ + 1;
  ++version_;
  history_.clear();
}

inline void FakeApiServer::ExpireWatches() {
  MutexLock lock(mu_);
  const std::string status =
      json::Write(api::StatusFromError(Error(Reason::kExpired, "too old resource version")));
  for (const auto& weak : watches_) {
    const auto watch = weak.lock();
    if (!watch) continue;
    watch->Send("{\"type\":\"ERROR\",\"object\":" + status + "}\n", false, {});
  }
}

inline void FakeApiServer::SendBookmarks() {
  MutexLock lock(mu_);
  const std::string frame = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" +
                            std::to_string(version_) + "\"}}}\n";
  for (const auto& weak : watches_)
    if (const auto watch = weak.lock()) watch->Send(frame, false, {});
}

inline void FakeApiServer::AnswerNext(std::string verb, std::string target_part, int status, std::string body,
                                      net::Headers headers) {
  MutexLock lock(mu_);
  canned_.push_back({std::move(verb), std::move(target_part), {status, std::move(headers), std::move(body)}});
}

inline std::size_t FakeApiServer::requests(const std::string& verb, const std::string& target_part) {
  MutexLock lock(mu_);
  return static_cast<std::size_t>(
      std::count_if(requests_.begin(), requests_.end(), [&](const net::Request& r) {
        return (verb.empty() || r.method == verb) && r.target.find(target_part) != std::string::npos;
      }));
}

inline std::size_t FakeApiServer::open_watches() {
  MutexLock lock(mu_);
  return static_cast<std::size_t>(std::count_if(watches_.begin(), watches_.end(), [](const auto& weak) {
    const auto watch = weak.lock();
    return watch && !watch->ended();
  }));
}

}  // namespace flyball::testing
