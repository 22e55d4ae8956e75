// AdmissionAttributes: a request as rules, selectors and expressions see it (upstream: admission.Attributes,
// VersionedAttributes). What is costly to find out is found out when it is first asked for, and once.
//
// Confined to the request's coroutine. The request and its objects must outlive it and may not change; call
// ObjectChanged() after a change.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/task.h"
#include "base/values/result.h"
#include "cel/values/authorizer.h"
#include "json/value.h"
#include "server/catalog/catalog.h"
#include "server/registry/admission.h"

namespace flyball::server {

struct GroupVersionKind {
  std::string_view group, version, kind;
  bool operator==(const GroupVersionKind&) const = default;
};

class AdmissionAttributes {
 public:
  AdmissionAttributes(const AdmissionRequest& request, const Catalog& catalog)
      : request_(request), catalog_(catalog) {}
  AdmissionAttributes(const AdmissionAttributes&) = delete;
  AdmissionAttributes& operator=(const AdmissionAttributes&) = delete;

  const AdmissionRequest& request() const { return request_; }
  const ServedResource& resource() const { return request_.resource; }
  std::string_view operation() const;  // "CREATE"
  std::string_view subresource() const { return request_.subresource; }
  // A Namespace is in itself.
  std::string_view namespace_name() const;
  // The object's own name on a create.
  std::string_view name() const;
  bool IsNamespaces() const;

  // What the request's body is in a version of the resource: the resource's kind, or the subresource's
  // ("Scale").
  GroupVersionKind KindIn(const ServedResource& version) const;
  // Whether the body is of another kind than the resource: a Scale, an Eviction.
  bool HasOwnBody() const;
  // The type of the body in a version of the resource.
  const api::TypeInfo* TypeIn(const ServedResource& version) const;
  // The versions in which the same objects are served and have the subresource, the request's own among
  // them (upstream: EquivalentResourceMapper).
  const std::vector<ResourcePtr>& Equivalents();

  struct Objects {
    const json::Value* object = nullptr;      // null for deletes
    const json::Value* old_object = nullptr;  // null for creates
  };
  // Gets the objects of a custom kind in this version; to be awaited before In is asked for it. Nothing to do
  // for others. An Error is the converter's.
  Task<Status> Convert(const ServedResource& version);
  // As they look in a version of the resource. Valid until ObjectChanged.
  Objects In(const ServedResource& version);
  void ObjectChanged() { converted_.clear(); }
  // An object as In has it, changed, as the request has its own. An Error is the converter's.
  Task<Result<json::Value>> BackToRequest(const ServedResource& version, json::Value object) const;

  // Of the request's namespace, from the object itself if it is a Namespace being written. NotFound if there
  // is no such namespace. Requires a namespace.
  Result<LabelList> NamespaceLabels() const;
  // The variable namespaceObject: null for what is in no namespace, and for Namespaces. NotFound.
  Result<const json::Value*> NamespaceObject();

  // The variable request. `matched` and `kind_of` are the versions in which `resource` and `kind` are said.
  json::Value RequestValue(const ServedResource& matched, const ServedResource& kind_of) const;
  // CreateOptions, UpdateOptions or DeleteOptions of the request; null for CONNECT.
  json::Value Options() const;
  // What authorizer.requestResource asks about.
  cel::AuthorizerQuery RequestResource() const;

 private:
  struct Converted {
    std::optional<json::Value> object, old_object;
  };
  const AdmissionRequest& request_;
  const Catalog& catalog_;
  std::optional<std::vector<ResourcePtr>> equivalents_;
  std::optional<json::Value> namespace_object_;
  std::map<const ServedResource*, Converted> converted_;
};

// The configuration of admission itself is never subject to webhooks and policies from the API: a wrong one
// could not be mended (upstream: IsExemptAdmissionConfigurationResource).
bool IsAdmissionConfiguration(const ServedResource& resource);
// Reviews, whose interception could lock everybody out: no policy, and no webhook, sees them (upstream:
// kubeapiserver/admission/exclusion).
bool IsExcludedReview(const ServedResource& resource);

}  // namespace flyball::server
