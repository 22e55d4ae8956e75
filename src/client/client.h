// Client: the API's verbs for every kind, typed where the compiler knows the type and JSON where it does not.
//
//   Client client(rest);
//   auto pod = client.Get<Pod>("default", "web-0");           // Result<Pod>
//   auto all = client.List<Pod>("", {.label_selector = "app=web"});
//   client.Apply(config_map, {.field_manager = "me"});
//   client.Dynamic(kind).Get("default", "thing");             // Result<json::Value>
//
// Calls block; in a simulation they complete at once. A Client is a small value: copy it freely.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/values/result.h"
#include "client/kind_ref.h"
#include "client/rest_client.h"
#include "client/unstructured.h"
#include "client/watch.h"
#include "json/value.h"

namespace flyball {

struct GetParams {
  std::string resource_version{};
};
struct ListParams {
  std::string label_selector{}, field_selector{};
  std::string resource_version{}, resource_version_match{};
  std::int64_t limit = 0;
  std::string continue_token{};
};
struct WatchParams {
  std::string label_selector{}, field_selector{};
  std::string resource_version{};
  bool bookmarks = true;
  bool send_initial_events = false;
  Duration timeout{};  // the server ends the stream after it; zero: its own choice
};
// Of create and update.
struct WriteParams {
  std::string field_manager{};
  bool dry_run = false;
  std::string field_validation{};  // "Strict", "Warn", "Ignore"; empty: the server's default
  std::string subresource{};       // "status", "scale", "binding", ...
};
enum class PatchType { kJson, kMerge, kStrategicMerge };
struct PatchParams {
  std::string field_manager{};
  bool dry_run = false;
  std::string field_validation{};
  std::string subresource{};
};
struct ApplyParams {
  std::string field_manager{};
  bool force = false;
  bool dry_run = false;
  std::string subresource{};
};
struct DeleteParams {
  std::optional<std::int64_t> grace_period_seconds{};
  std::string propagation_policy{};       // "Background", "Foreground", "Orphan"; empty: the kind's default
  std::string uid{}, resource_version{};  // preconditions
  bool dry_run = false;
};

// The parts of a list besides its items.
struct ListMetadata {
  std::string resource_version{}, continue_token{};
  std::int64_t remaining_items = 0;
};
template <typename T>
struct ObjectList {
  ListMetadata metadata;
  std::vector<T> items;
};

// Told of every write of a Client that has one: how a controller knows what it wrote. Thread-safe.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  // `resource_version` is that of the answer. For a delete that removed the object at once it is the last one
  // it had, or "".
  virtual void OnWrite(const KindRef& kind, std::string_view ns, std::string_view name,
                       std::string_view resource_version, bool deleted) = 0;
  // The answer was lost, or was none to rely on: the write may have been done or not. `name` is "" for a
  // create by generateName.
  virtual void OnUnknown(const KindRef& kind, std::string_view ns, std::string_view name) = 0;
};

struct WriteRequest;  // private to DynamicClient

// An object to create, as the text that is sent: made once, for many of the same.
struct EncodedObject {
  std::string ns, name, body;
};

// One kind, as JSON. The base of the typed calls. Thread-safe; a small value.
class DynamicClient {
 public:
  using Done = UniqueFunction<void(Result<json::Value>)>;

  DynamicClient(std::shared_ptr<RestClient> rest, KindRef kind,
                std::shared_ptr<WriteObserver> observer = nullptr, std::stop_token cancelled = {})
      : rest_(std::move(rest)),
        kind_(std::move(kind)),
        observer_(std::move(observer)),
        cancelled_(std::move(cancelled)) {}

  Result<json::Value> Get(std::string_view ns, std::string_view name, const GetParams& params = {},
                          std::string_view subresource = {}) const;
  // One page; the whole list if params.limit is 0.
  Result<ObjectList<json::Value>> List(std::string_view ns, const ListParams& params = {}) const;
  // The namespace and (unless generateName is used) the name come from the object.
  Result<json::Value> Create(json::Value object, const WriteParams& params = {}) const;
  // To a subresource of a named object: pods/<name>/eviction, serviceaccounts/<name>/token, ...
  Result<json::Value> CreateSubresource(std::string_view ns, std::string_view name,
                                        std::string_view subresource, json::Value body) const;
  Result<json::Value> Update(json::Value object, const WriteParams& params = {}) const;
  Result<json::Value> Patch(std::string_view ns, std::string_view name, PatchType type,
                            const json::Value& patch, const PatchParams& params = {}) const;
  Result<json::Value> Apply(json::Value object, const ApplyParams& params) const;
  // The object in its last state, or a Status.
  Result<json::Value> Delete(std::string_view ns, std::string_view name,
                             const DeleteParams& params = {}) const;
  Status DeleteCollection(std::string_view ns, const DeleteParams& params = {},
                          const ListParams& selection = {}) const;
  std::unique_ptr<WatchStream> Watch(std::string_view ns, const WatchParams& params,
                                     std::shared_ptr<WatchSink> sink) const;
  std::unique_ptr<WatchReader> Watch(std::string_view ns, const WatchParams& params = {}) const;

  // Without blocking: many of these may be under way at once. `done` is called once and must not block.
  void CreateAsync(json::Value object, const WriteParams& params, Done done) const;
  // `done` gets the answer without spec, status and managedFields.
  EncodedObject Encode(json::Value object) const;
  void CreateAsync(const EncodedObject& object, Done done) const;
  void DeleteAsync(std::string_view ns, std::string_view name, const DeleteParams& params, Done done) const;
  void PatchAsync(std::string_view ns, std::string_view name, PatchType type, const json::Value& patch,
                  const PatchParams& params, Done done) const;
  void GetAsync(std::string_view ns, std::string_view name, Done done) const;
  void UpdateAsync(json::Value object, const WriteParams& params, Done done) const;

  const KindRef& kind() const { return kind_; }
  RestClient& rest() const { return *rest_; }

 private:
  void Start(WriteRequest write, Done done) const;
  Result<json::Value> Do(WriteRequest write) const;
  Result<json::Value> Read(RestRequest request) const;

  std::shared_ptr<RestClient> rest_;
  KindRef kind_;
  std::shared_ptr<WriteObserver> observer_;
  std::stop_token cancelled_;
};

// What to read of a container's log.
struct LogParams {
  std::string container{};
  bool follow = false, previous = false, timestamps = false;
  std::optional<std::int64_t> tail_lines{}, since_seconds{}, limit_bytes{};
};

template <ApiObject T>
class Pager;

// Thread-safe; a small value.
class Client {
 public:
  explicit Client(std::shared_ptr<RestClient> rest) : rest_(std::move(rest)) {}

  template <ApiObject T>
  Result<T> Get(std::string_view ns, std::string_view name, const GetParams& params = {}) const {
    return Decode<T>(Of<T>().Get(ns, name, params));
  }
  // One page; everything if params.limit is 0. All namespaces if ns is empty.
  template <ApiObject T>
  Result<ObjectList<T>> List(std::string_view ns = {}, const ListParams& params = {}) const;
  // Everything, fetched page by page as it is read:
  //   auto pods = client.Pages<Pod>("default");
  //   while (auto pod = pods.Next()) ...
  //   if (!pods.status()) ...                       // it ended early
  // params.limit is the size of a page.
  template <ApiObject T>
  Pager<T> Pages(std::string_view ns = {}, ListParams params = {}) const;
  // The same; fn(T) for each. Stops at the first error.
  template <ApiObject T, typename Fn>
  Status ForEach(std::string_view ns, ListParams params, Fn&& fn) const;

  template <ApiObject T>
  Result<T> Create(const T& object, const WriteParams& params = {}) const {
    return Decode<T>(Of<T>().Create(Encode(object), params));
  }
  template <ApiObject T>
  Result<T> Update(const T& object, const WriteParams& params = {}) const {
    return Decode<T>(Of<T>().Update(Encode(object), params));
  }
  template <ApiObject T>
  Result<T> UpdateStatus(const T& object, WriteParams params = {}) const {
    params.subresource = "status";
    return Decode<T>(Of<T>().Update(Encode(object), params));
  }
  template <ApiObject T>
  Result<T> Patch(std::string_view ns, std::string_view name, PatchType type, const json::Value& patch,
                  const PatchParams& params = {}) const {
    return Decode<T>(Of<T>().Patch(ns, name, type, patch, params));
  }
  // Server-side apply of exactly what the object says.
  template <ApiObject T>
  Result<T> Apply(const T& object, const ApplyParams& params) const {
    return Decode<T>(Of<T>().Apply(Encode(object), params));
  }
  template <ApiObject T>
  Result<T> ApplyStatus(const T& object, ApplyParams params) const {
    params.subresource = "status";
    return Decode<T>(Of<T>().Apply(Encode(object), params));
  }
  template <ApiObject T>
  Status Delete(std::string_view ns, std::string_view name, const DeleteParams& params = {}) const {
    return Drop(Of<T>().Delete(ns, name, params));
  }
  // With the object's UID as a precondition, unless params has one.
  template <ApiObject T>
  Status Delete(const T& object, DeleteParams params = {}) const {
    const MetaView meta = MetaOf(object);
    if (params.uid.empty()) params.uid = std::string(meta.uid);
    return Drop(Of<T>().Delete(meta.ns, meta.name, params));
  }
  template <ApiObject T>
  Status DeleteCollection(std::string_view ns, const DeleteParams& params = {},
                          const ListParams& selection = {}) const {
    return Of<T>().DeleteCollection(ns, params, selection);
  }
  template <ApiObject T>
  std::unique_ptr<WatchStream> Watch(std::string_view ns, const WatchParams& params,
                                     std::shared_ptr<WatchSink> sink) const {
    return Of<T>().Watch(ns, params, std::move(sink));
  }
  template <ApiObject T>
  std::unique_ptr<WatchReader> Watch(std::string_view ns, const WatchParams& params = {}) const {
    return Of<T>().Watch(ns, params);
  }

  // The log as far as it is written.
  Result<std::string> Logs(std::string_view ns, std::string_view pod, const LogParams& params = {}) const;
  // Passes the log on as it grows, until the sink's call is cancelled or the container ends.
  std::shared_ptr<net::Call> StreamLogs(std::string_view ns, std::string_view pod, const LogParams& params,
                                        std::shared_ptr<net::ResponseSink> sink) const;

  template <ApiObject T>
  DynamicClient Of() const {
    return Dynamic(KindRefOf<T>());
  }
  DynamicClient Dynamic(KindRef kind) const {
    return DynamicClient(rest_, std::move(kind), observer_, cancelled_);
  }
  RestClient& rest() const { return *rest_; }
  const Runtime& runtime() const { return rest_->runtime(); }

  // Copies that report their writes, or end their calls when a token is stopped.
  Client WithObserver(std::shared_ptr<WriteObserver> observer) const;
  Client WithCancel(std::stop_token cancelled) const;

 private:
  template <ApiObject T>
  static json::Value Encode(const T& object);
  template <ApiObject T>
  static Result<T> Decode(Result<json::Value> value);
  static Status Drop(const Result<json::Value>& value);

  std::shared_ptr<RestClient> rest_;
  std::shared_ptr<WriteObserver> observer_;
  std::stop_token cancelled_;
};

// --- details ---------------------------------------------------------------------------------------------

// Sets apiVersion and kind.
void SetTypeMeta(json::Value& object, const KindRef& kind);

template <ApiObject T>
json::Value Client::Encode(const T& object) {
  json::Value value = ToJson(object);
  SetTypeMeta(value, KindRefOf<T>());
  return value;
}

template <ApiObject T>
Result<T> Client::Decode(Result<json::Value> value) {
  if (!value) return Unexpected(value.error());
  T object{};
  if (Status s = FromJson(*value, &object); !s) return Unexpected(s.error());
  return object;
}

template <ApiObject T>
Result<ObjectList<T>> Client::List(std::string_view ns, const ListParams& params) const {
  auto page = Of<T>().List(ns, params);
  if (!page) return Unexpected(page.error());
  ObjectList<T> list{std::move(page->metadata), {}};
  list.items.reserve(page->items.size());
  for (json::Value& item : page->items) {
    auto object = Decode<T>(std::move(item));
    if (!object) return Unexpected(object.error());
    list.items.push_back(std::move(*object));
  }
  return list;
}

template <ApiObject T, typename Fn>
Status Client::ForEach(std::string_view ns, ListParams params, Fn&& fn) const {
  Pager<T> pager = Pages<T>(ns, std::move(params));
  while (auto item = pager.Next()) fn(std::move(*item));
  return pager.status();
}

// The objects of a list, one after the other; asks for the next page when the last one has been read. All
// pages show the list as it was when the first was read; Expired (410) if that is too long ago.
// Thread-compatible.
template <ApiObject T>
class Pager {
 public:
  // client-go's.
  static constexpr std::int64_t kPageSize = 500;

  Pager(Client client, std::string ns, ListParams params)
      : client_(std::move(client)), ns_(std::move(ns)), params_(std::move(params)) {
    if (params_.limit == 0) params_.limit = kPageSize;
  }

  // Nothing at the end, or when a page could not be read: status() tells which.
  std::optional<T> Next() {
    while (next_ == page_.items.size())
      if (!Turn()) return std::nullopt;
    return std::move(page_.items[next_++]);
  }
  const Status& status() const { return status_; }
  // Of the page being read.
  const ListMetadata& metadata() const { return page_.metadata; }

 private:
  bool Turn() {
    if (ended_) return false;
    auto page = client_.List<T>(ns_, params_);
    next_ = 0;
    if (!page) {
      status_ = Unexpected(page.error());
      page_ = {};
      ended_ = true;
      return false;
    }
    page_ = std::move(*page);
    params_.continue_token = page_.metadata.continue_token;
    ended_ = params_.continue_token.empty();
    // A continue token says which version; to say it again is an error.
    params_.resource_version.clear();
    params_.resource_version_match.clear();
    return true;
  }

  const Client client_;
  const std::string ns_;
  ListParams params_;
  ObjectList<T> page_;
  std::size_t next_ = 0;
  bool ended_ = false;
  Status status_;
};

template <ApiObject T>
Pager<T> Client::Pages(std::string_view ns, ListParams params) const {
  return Pager<T>(*this, std::string(ns), std::move(params));
}

}  // namespace flyball
