#include <array>
#include <utility>

#include "client/client.h"
#include "json/json.h"
#include "json/parse_without.h"

namespace flyball {

// A request that changes something, and what it is about. No name: a create by generateName.
struct WriteRequest {
  std::string ns, name;
  bool deletes = false;
  RestRequest request{};
  std::span<const std::string_view> leave_out{};  // of the answer
};

namespace {

std::string_view MetaField(const json::Value& object, std::string_view field) {
  return object["metadata"][field].string_or("");
}

void AddSelection(RestRequest& request, const ListParams& params) {
  request.Query("labelSelector", params.label_selector);
  request.Query("fieldSelector", params.field_selector);
  request.Query("resourceVersion", params.resource_version);
  request.Query("resourceVersionMatch", params.resource_version_match);
  if (params.limit > 0) request.Query("limit", std::to_string(params.limit));
  request.Query("continue", params.continue_token);
}

template <typename Params>
void AddWriteQuery(RestRequest& request, const Params& params) {
  request.Query("fieldManager", params.field_manager);
  if (params.dry_run) request.Query("dryRun", "All");
  if constexpr (requires { params.field_validation; })
    request.Query("fieldValidation", params.field_validation);
}

std::string ContentTypeOf(PatchType type) {
  switch (type) {
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategicMerge:
      return "application/strategic-merge-patch+json";
  }
  return "application/json";
}

std::string DeleteBody(const DeleteParams& params) {
  json::Value body(json::Object{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}});
  if (params.grace_period_seconds)
    body["gracePeriodSeconds"] = static_cast<long long>(*params.grace_period_seconds);
  if (!params.propagation_policy.empty()) body["propagationPolicy"] = params.propagation_policy;
  if (!params.uid.empty()) body["preconditions"]["uid"] = params.uid;
  if (!params.resource_version.empty()) body["preconditions"]["resourceVersion"] = params.resource_version;
  if (params.dry_run) body["dryRun"] = json::Array{"All"};
  return json::Write(body);
}

WriteRequest CreateRequest(const KindRef& kind, json::Value object, const WriteParams& params) {
  SetTypeMeta(object, kind);
  WriteRequest write{std::string(MetaField(object, "namespace")), std::string(MetaField(object, "name"))};
  RestRequest& request = write.request;
  request.verb = "POST";
  request.path = kind.Path(MetaField(object, "namespace"));
  AddWriteQuery(request, params);
  request.body = json::Write(object);
  return write;
}

WriteRequest UpdateRequest(const KindRef& kind, json::Value object, const WriteParams& params) {
  // A subresource may be of another kind than its resource: a Scale says so itself.
  if (params.subresource.empty() || !object.Find("kind")) SetTypeMeta(object, kind);
  WriteRequest write{std::string(MetaField(object, "namespace")), std::string(MetaField(object, "name"))};
  RestRequest& request = write.request;
  request.verb = "PUT";
  request.path = kind.Path(MetaField(object, "namespace"), MetaField(object, "name"), params.subresource);
  AddWriteQuery(request, params);
  request.body = json::Write(object);
  return write;
}

WriteRequest PatchRequest(const KindRef& kind, std::string_view ns, std::string_view name, PatchType type,
                          const json::Value& patch, const PatchParams& params) {
  WriteRequest write{std::string(ns), std::string(name)};
  RestRequest& request = write.request;
  request.verb = "PATCH";
  request.path = kind.Path(ns, name, params.subresource);
  request.content_type = ContentTypeOf(type);
  AddWriteQuery(request, params);
  request.body = json::Write(patch);
  return write;
}

WriteRequest DeleteRequest(const KindRef& kind, std::string_view ns, std::string_view name,
                           const DeleteParams& params) {
  WriteRequest write{std::string(ns), std::string(name), true};
  RestRequest& request = write.request;
  request.verb = "DELETE";
  request.path = kind.Path(ns, name);
  request.body = DeleteBody(params);
  return write;
}

Status MissingName(const KindRef& kind) {
  return Unexpected(BadRequest("a " + kind.kind + " without a name cannot be addressed"));
}

// A delete that only began: the object stays until its grace period and its finalizers are over, and the
// answer is its newest version.
bool IsStillThere(const json::Value& answer) {
  const json::Value& meta = answer["metadata"];
  return meta.Find("deletionTimestamp") != nullptr &&
         (meta["finalizers"].size() > 0 || meta["deletionGracePeriodSeconds"].int_or(0) > 0);
}

void Report(const std::shared_ptr<WriteObserver>& observer, const KindRef& kind, const json::Value& answer,
            bool deleted) {
  if (!observer || answer["kind"].string_or("") == "Status") return;
  observer->OnWrite(kind, MetaField(answer, "namespace"), MetaField(answer, "name"),
                    MetaField(answer, "resourceVersion"), deleted && !IsStillThere(answer));
}

// Whether a write that failed so may have been done all the same.
bool IsUnknown(const Error& error) {
  return error.Is(Reason::kConnection) || error.Is(Reason::kTimeout) || error.Is(Reason::kCancelled) ||
         error.code() >= 500;
}

RestRequest WatchRequest(const KindRef& kind, std::string_view ns, const WatchParams& params) {
  RestRequest request;
  request.path = kind.Path(ns);
  request.Query("watch", "true");
  request.Query("labelSelector", params.label_selector);
  request.Query("fieldSelector", params.field_selector);
  request.Query("resourceVersion", params.resource_version);
  if (params.bookmarks) request.Query("allowWatchBookmarks", "true");
  if (params.send_initial_events) {
    request.Query("sendInitialEvents", "true");
    request.Query("resourceVersionMatch", "NotOlderThan");
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(params.timeout).count();
  if (seconds > 0) request.Query("timeoutSeconds", std::to_string(seconds));
  return request;
}

}  // namespace

Result<json::Value> DynamicClient::Do(WriteRequest write) const {
  write.request.cancelled = cancelled_;
  auto answer = rest_->DoJson(std::move(write.request));
  if (answer)
    Report(observer_, kind_, *answer, write.deletes);
  else if (observer_ && IsUnknown(answer.error()))
    observer_->OnUnknown(kind_, write.ns, write.name);
  return answer;
}

Result<json::Value> DynamicClient::Read(RestRequest request) const {
  request.cancelled = cancelled_;
  return rest_->DoJson(std::move(request));
}

void DynamicClient::Start(WriteRequest write, Done done) const {
  RestRequest request = std::move(write.request);
  request.cancelled = cancelled_;
  rest_->Start(std::move(request),
               [observer = observer_, kind = kind_, ns = std::move(write.ns), name = std::move(write.name),
                deletes = write.deletes, leave_out = write.leave_out,
                done = std::move(done)](Result<RestResponse> response) mutable {
                 auto answer = response ? json::ParseWithout(leave_out, response->body)
                                        : Result<json::Value>(Unexpected(response.error()));
                 if (answer)
                   Report(observer, kind, *answer, deletes);
                 else if (observer && IsUnknown(answer.error()))
                   observer->OnUnknown(kind, ns, name);
                 done(std::move(answer));
               });
}

Result<json::Value> DynamicClient::Get(std::string_view ns, std::string_view name, const GetParams& params,
                                       std::string_view subresource) const {
  if (name.empty()) return Unexpected(MissingName(kind_).error());
  RestRequest request;
  request.path = kind_.Path(ns, name, subresource);
  request.Query("resourceVersion", params.resource_version);
  return Read(std::move(request));
}

Result<ObjectList<json::Value>> DynamicClient::List(std::string_view ns, const ListParams& params) const {
  RestRequest request;
  request.path = kind_.Path(ns);
  AddSelection(request, params);
  auto answer = Read(std::move(request));
  if (!answer) return Unexpected(answer.error());
  ObjectList<json::Value> list;
  const json::Value& meta = (*std::as_const(answer))["metadata"];
  list.metadata.resource_version = meta["resourceVersion"].string_or("");
  list.metadata.continue_token = meta["continue"].string_or("");
  list.metadata.remaining_items = meta["remainingItemCount"].int_or(0);
  if (json::Value* items = answer->Find("items"); items && items->is_array())
    list.items = std::move(items->as_array());
  return list;
}

Result<json::Value> DynamicClient::Create(json::Value object, const WriteParams& params) const {
  return Do(CreateRequest(kind_, std::move(object), params));
}

Result<json::Value> DynamicClient::CreateSubresource(std::string_view ns, std::string_view name,
                                                     std::string_view subresource, json::Value body) const {
  RestRequest request;
  request.verb = "POST";
  request.path = kind_.Path(ns, name, subresource);
  request.body = json::Write(body);
  return Read(std::move(request));
}

Result<json::Value> DynamicClient::Update(json::Value object, const WriteParams& params) const {
  if (MetaField(object, "name").empty()) return Unexpected(MissingName(kind_).error());
  return Do(UpdateRequest(kind_, std::move(object), params));
}

Result<json::Value> DynamicClient::Patch(std::string_view ns, std::string_view name, PatchType type,
                                         const json::Value& patch, const PatchParams& params) const {
  if (name.empty()) return Unexpected(MissingName(kind_).error());
  return Do(PatchRequest(kind_, ns, name, type, patch, params));
}

Result<json::Value> DynamicClient::Apply(json::Value object, const ApplyParams& params) const {
  SetTypeMeta(object, kind_);
  const std::string_view name = MetaField(object, "name");
  if (name.empty()) return Unexpected(MissingName(kind_).error());
  WriteRequest write{std::string(MetaField(object, "namespace")), std::string(name)};
  RestRequest& request = write.request;
  request.verb = "PATCH";
  request.path = kind_.Path(write.ns, write.name, params.subresource);
  // JSON is YAML, and every server takes this type.
  request.content_type = "application/apply-patch+yaml";
  AddWriteQuery(request, params);
  if (params.force) request.Query("force", "true");
  if (json::Value* meta = object.Find("metadata"); meta && meta->is_object())
    meta->as_object().Erase("managedFields");
  request.body = json::Write(object);
  return Do(std::move(write));
}

Result<json::Value> DynamicClient::Delete(std::string_view ns, std::string_view name,
                                          const DeleteParams& params) const {
  if (name.empty()) return Unexpected(MissingName(kind_).error());
  return Do(DeleteRequest(kind_, ns, name, params));
}

Status DynamicClient::DeleteCollection(std::string_view ns, const DeleteParams& params,
                                       const ListParams& selection) const {
  RestRequest request;
  request.verb = "DELETE";
  request.path = kind_.Path(ns);
  AddSelection(request, selection);
  request.body = DeleteBody(params);
  auto answer = Read(std::move(request));
  if (!answer) return Unexpected(answer.error());
  return {};
}

std::unique_ptr<WatchStream> DynamicClient::Watch(std::string_view ns, const WatchParams& params,
                                                  std::shared_ptr<WatchSink> sink) const {
  return StartWatch(*rest_, WatchRequest(kind_, ns, params), std::move(sink));
}

std::unique_ptr<WatchReader> DynamicClient::Watch(std::string_view ns, const WatchParams& params) const {
  return WatchReader::Start(*rest_, WatchRequest(kind_, ns, params));
}

void DynamicClient::CreateAsync(json::Value object, const WriteParams& params, Done done) const {
  Start(CreateRequest(kind_, std::move(object), params), std::move(done));
}

EncodedObject DynamicClient::Encode(json::Value object) const {
  SetTypeMeta(object, kind_);
  return {std::string(MetaField(object, "namespace")), std::string(MetaField(object, "name")),
          json::Write(object)};
}

void DynamicClient::CreateAsync(const EncodedObject& object, Done done) const {
  static constexpr std::array<std::string_view, 3> kUnread = {"spec", "status", "metadata.managedFields"};
  WriteRequest write{object.ns, object.name};
  write.request.verb = "POST";
  write.request.path = kind_.Path(object.ns);
  write.request.body = object.body;
  write.leave_out = kUnread;
  Start(std::move(write), std::move(done));
}

void DynamicClient::UpdateAsync(json::Value object, const WriteParams& params, Done done) const {
  Start(UpdateRequest(kind_, std::move(object), params), std::move(done));
}

void DynamicClient::PatchAsync(std::string_view ns, std::string_view name, PatchType type,
                               const json::Value& patch, const PatchParams& params, Done done) const {
  Start(PatchRequest(kind_, ns, name, type, patch, params), std::move(done));
}

void DynamicClient::DeleteAsync(std::string_view ns, std::string_view name, const DeleteParams& params,
                                Done done) const {
  Start(DeleteRequest(kind_, ns, name, params), std::move(done));
}

void DynamicClient::GetAsync(std::string_view ns, std::string_view name, Done done) const {
  RestRequest request;
  request.path = kind_.Path(ns, name);
  request.cancelled = cancelled_;
  rest_->Start(std::move(request), [done = std::move(done)](Result<RestResponse> response) mutable {
    if (!response) return done(Unexpected(response.error()));
    done(json::Parse(response->body));
  });
}

}  // namespace flyball
