// ApplySet: the objects that one `apply` after another makes and prunes, tracked by a parent object (KEP
// 3659). The members have a label with the set's id. The parent says in annotations of which kinds they are,
// and in which namespaces, so that those that are no longer applied can be found.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/apply/apply_object.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {

// Thread-compatible; for one run of `apply`. The session outlives it.
class ApplySet {
 public:
  // The set that --applyset names: [RESOURCE[.GROUP]/]NAME, a Secret if there is no type. Its parent is a
  // Secret, a ConfigMap, or a custom resource of a kind that is marked as a parent. Errors are kubectl's.
  static Result<ApplySet> Open(Session& session, const std::string& reference, const ApplyOptions& options);

  // Makes the manifests members, and records their kinds and namespaces in the parent before they are
  // applied: so none is lost if the program is interrupted. Makes a Secret or ConfigMap that is missing.
  Status BeforeApply(std::vector<Manifest>& manifests);
  // Deletes the members that were not applied (by uid), and then forgets kinds and namespaces that the set no
  // longer has.
  Status Prune(const std::set<std::string>& applied_uids);

 private:
  // "ConfigMap", "Deployment.apps"
  using Kinds = std::map<std::string, KindRef>;

  ApplySet(Session& session, const ApplyOptions& options, KindRef kind, std::string ns, std::string name)
      : session_(session),
        options_(options),
        parent_(std::move(kind)),
        ns_(std::move(ns)),
        name_(std::move(name)) {}

  std::string Id() const;
  std::string ParentText() const;
  Status Validate() const;
  Status FetchParent();
  Status CheckParent(const json::Value& parent);
  Status UpdateParent(const Kinds& kinds, std::set<std::string> namespaces) const;
  Status DeleteMember(const KindRef& kind, const json::Value& object) const;

  Session& session_;
  const ApplyOptions& options_;
  const KindRef parent_;
  const std::string ns_, name_;
  Kinds current_kinds_, updated_kinds_;
  std::set<std::string> current_namespaces_, updated_namespaces_;
};

}  // namespace flyball::cli
