#include "cli/kubectl/apply/apply_set.h"

#include "api/kubernetes_version.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"
#include "json/json.h"
#include "net/tls/pki.h"

namespace flyball::cli {
namespace {

constexpr const char* kTooling = "applyset.kubernetes.io/tooling";
constexpr const char* kNamespaces = "applyset.kubernetes.io/additional-namespaces";
constexpr const char* kGroupKinds = "applyset.kubernetes.io/contains-group-kinds";
constexpr const char* kGroupResources = "applyset.kubernetes.io/contains-group-resources";  // before v1.27
constexpr const char* kParentId = "applyset.kubernetes.io/id";
constexpr const char* kPartOf = "applyset.kubernetes.io/part-of";
constexpr const char* kParentType = "applyset.kubernetes.io/is-parent-type";
// A set belongs to the tool that made it. This program continues what kubectl has begun, and the other way.
constexpr const char* kToolName = "kubectl";
constexpr const char* kManager = "kubectl-applyset";

bool MayBeCreated(const KindRef& kind) {
  return kind.group.empty() && (kind.plural == "secrets" || kind.plural == "configmaps");
}

std::string GroupKind(const KindRef& kind) {
  return kind.kind + (kind.group.empty() ? "" : "." + kind.group);
}

std::string Quoted(std::string_view text) {
  std::string out;
  json::AppendQuoted(text, out);
  return out;
}

template <typename Names>
std::string Joined(const Names& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ",") + std::string(name);
  return out;
}

// The kinds that the parent's annotation lists.
Result<std::map<std::string, KindRef>> KindsOf(Session& session, const json::Value& annotations) {
  std::map<std::string, KindRef> kinds;
  const bool old = annotations[kGroupKinds].is_null() && !annotations[kGroupResources].string_or("").empty();
  const json::Value& annotation = annotations[old ? kGroupResources : kGroupKinds];
  if (annotation.is_null())
    return Unexpected(LocalError("kubectl requires the " + Quoted(kGroupKinds) +
                                 " annotation to be set on all ApplySet parent objects"));
  if (annotation.string_or("").empty()) return kinds;
  for (const std::string& name : SplitText(annotation.string_or(""), ',')) {
    const std::size_t dot = name.find('.');
    const std::string group = dot == std::string::npos ? "" : name.substr(dot + 1);
    auto kind =
        old ? session.mapper().ForResource(name) : session.mapper().ForKind(group, "", name.substr(0, dot));
    if (!kind)
      return Unexpected(kind.error().Annotate(
          old ? "invalid group resource in " + Quoted(kGroupResources) + " annotation"
              : "could not find mapping for kind in " + Quoted(kGroupKinds) + " annotation"));
    kinds.emplace(GroupKind(*kind), *kind);
  }
  return kinds;
}

std::string ToolOf(const std::string& annotation) {
  const std::size_t slash = annotation.rfind('/');
  return slash == std::string::npos ? annotation : annotation.substr(0, slash);
}

}  // namespace

Result<ApplySet> ApplySet::Open(Session& session, const std::string& reference, const ApplyOptions& options) {
  const std::size_t slash = reference.find('/');
  const std::string type = slash == std::string::npos ? "secrets" : reference.substr(0, slash);
  const std::string name = slash == std::string::npos ? reference : reference.substr(slash + 1);
  const std::string what = "invalid parent reference " + Quoted(reference);
  if (name.empty()) return Unexpected(LocalError(what + ": name cannot be blank"));
  auto kind = session.mapper().ForResource(type);
  if (!kind) return Unexpected(kind.error().Annotate(what));
  // The namespace has to be given with the command: that of the context is not meant.
  const std::string ns = kind->namespaced && session.ns_given() ? session.ns() : "";
  ApplySet set(session, options, *kind, ns, name);
  FLYBALL_TRY(set.Validate());
  return set;
}

std::string ApplySet::Id() const {
  const std::string object = name_ + "." + ns_ + "." + parent_.kind + "." + parent_.group;
  return "applyset-" + net::Base64UrlEncode(net::Sha256(object)) + "-v1";
}

std::string ApplySet::ParentText() const {
  return Quoted(parent_.plural + "." + parent_.group + "/" + name_);
}

Status ApplySet::Validate() const {
  std::vector<std::string> problems;
  if (parent_.namespaced && ns_.empty())
    problems.emplace_back("namespace is required to use namespace-scoped ApplySet");
  if (!MayBeCreated(parent_)) {
    FLYBALL_ASSIGN(const KindRef crds,
                   session_.mapper().ForResource("customresourcedefinitions.apiextensions.k8s.io"));
    FLYBALL_ASSIGN(const auto marked, ListObjects(session_, crds, "", kParentType));
    bool permitted = false;
    for (const json::Value& crd : marked)
      permitted |= crd["metadata"]["name"].string_or("") == parent_.GroupResource();
    if (!permitted)
      problems.push_back("resource " +
                         Quoted(parent_.group + "/" + parent_.version + ", Resource=" + parent_.plural) +
                         " is not permitted as an ApplySet parent");
  }
  if (problems.empty()) return {};
  if (problems.size() == 1) return Unexpected(LocalError(problems[0]));
  return Unexpected(LocalError("[" + problems[0] + ", " + problems[1] + "]"));
}

Status ApplySet::FetchParent() {
  const auto parent = session_.Get(parent_, ns_, name_);
  if (parent) return CheckParent(*parent);
  if (!parent.error().Is(Reason::kNotFound))
    return Unexpected(parent.error().Annotate("failed to fetch ApplySet parent object " + ParentText()));
  if (!MayBeCreated(parent_))
    return Unexpected(LocalError("custom resource ApplySet parents cannot be created automatically"));
  return {};
}

Status ApplySet::CheckParent(const json::Value& parent) {
  const json::Value& annotations = parent["metadata"]["annotations"];
  const std::string object = "ApplySet parent object " + ParentText();
  const json::Value& tooling = annotations[kTooling];
  if (tooling.is_null())
    return Unexpected(
        LocalError(object + " already exists and is missing required annotation " + Quoted(kTooling)));
  if (const std::string tool = ToolOf(std::string(tooling.string_or(""))); tool != kToolName)
    return Unexpected(LocalError(object + " already exists and is managed by tooling " + Quoted(tool) +
                                 " instead of " + Quoted(kToolName)));
  const json::Value& id = parent["metadata"]["labels"][kParentId];
  if (id.is_null())
    return Unexpected(LocalError(object + " exists and does not have required label " + kParentId));
  if (id.string_or("") != Id())
    return Unexpected(LocalError(object + " exists and has incorrect value for label " + Quoted(kParentId) +
                                 " (got: " + std::string(id.string_or("")) + ", want: " + Id() + ")"));
  auto kinds = KindsOf(session_, annotations);
  if (!kinds) return Unexpected(kinds.error().Annotate("parsing ApplySet annotation on " + ParentText()));
  current_kinds_ = std::move(*kinds);
  if (const std::string names(annotations[kNamespaces].string_or("")); !names.empty())
    for (const std::string& ns : SplitText(names, ',')) current_namespaces_.insert(ns);
  if (parent_.namespaced) current_namespaces_.insert(ns_);
  return {};
}

Status ApplySet::UpdateParent(const Kinds& kinds, std::set<std::string> namespaces) const {
  if (options_.dry_run == "client") return {};
  namespaces.erase(ns_);
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds) names.push_back(name);
  Manifest manifest{.kind = parent_, .ns = ns_, .name = name_};
  json::Object metadata{{"name", name_},
                        {"labels", json::Object{{kParentId, Id()}}},
                        {"annotations", json::Object{{kTooling, kToolName + std::string("/") +
                                                                    std::string(api::kKubernetesVersion)},
                                                     {kGroupKinds, Joined(names)},
                                                     {kNamespaces, Joined(namespaces)}}}};
  if (!ns_.empty()) metadata.Set("namespace", ns_);
  manifest.object = json::Object{
      {"apiVersion", parent_.ApiVersion()}, {"kind", parent_.kind}, {"metadata", std::move(metadata)}};
  ApplyOptions options{.server_side = true, .validate = options_.validate, .dry_run = options_.dry_run};
  auto sent = SendServerSideApply(session_, options, manifest, kManager);
  if (!sent && sent.error().Is(Reason::kConflict)) {
    session_.err() << "WARNING: failed to update ApplySet: " << sent.error().message()
                   << "\nApplySet field manager " << kManager
                   << " should own these fields. Retrying with conflicts forced.\n";
    options.force_conflicts = true;
    sent = SendServerSideApply(session_, options, manifest, kManager);
  }
  if (!sent) return Unexpected(sent.error().Annotate("failed to update ApplySet"));
  return {};
}

Status ApplySet::BeforeApply(std::vector<Manifest>& manifests) {
  for (Manifest& manifest : manifests) {
    if (!std::as_const(manifest.object)["metadata"]["labels"][kPartOf].is_null())
      return Unexpected(LocalError("ApplySet label " + Quoted(kPartOf) + " already set in input data"));
    manifest.object["metadata"]["labels"][kPartOf] = Id();
  }
  FLYBALL_TRY(FetchParent());
  for (const Manifest& manifest : manifests) {
    updated_kinds_.emplace(GroupKind(manifest.kind), manifest.kind);
    if (manifest.kind.namespaced && !manifest.ns.empty()) updated_namespaces_.insert(manifest.ns);
  }
  Kinds kinds = current_kinds_;
  kinds.insert(updated_kinds_.begin(), updated_kinds_.end());
  std::set<std::string> namespaces = current_namespaces_;
  namespaces.insert(updated_namespaces_.begin(), updated_namespaces_.end());
  return UpdateParent(kinds, std::move(namespaces));
}

Status ApplySet::DeleteMember(const KindRef& kind, const json::Value& object) const {
  if (options_.dry_run == "client") return {};
  RestRequest request;
  request.verb = "DELETE";
  request.path =
      kind.Path(object["metadata"]["namespace"].string_or(""), object["metadata"]["name"].string_or(""));
  request.body = options_.dry_run == "server" ? R"({"propagationPolicy":"Background","dryRun":["All"]})"
                                              : R"({"propagationPolicy":"Background"})";
  FLYBALL_TRY(session_.Call(std::move(request)));
  return {};
}

Status ApplySet::Prune(const std::set<std::string>& applied_uids) {
  for (const auto& [name, kind] : current_kinds_) {
    const std::set<std::string> cluster{""};
    for (const std::string& ns : kind.namespaced ? current_namespaces_ : cluster) {
      auto members = ListObjects(session_, kind, ns, std::string(kPartOf) + "=" + Id());
      if (!members)
        return Unexpected(members.error().Annotate("listing " + kind.ApiVersion() + ", Kind=" + kind.kind +
                                                   " objects for pruning"));
      for (const json::Value& member : *members) {
        if (applied_uids.count(std::string(member["metadata"]["uid"].string_or("")))) continue;
        FLYBALL_TRY(DeleteMember(kind, member));
        session_.out() << NameOf(member) << " pruned" << DryRunNote(options_.dry_run) << "\n";
      }
    }
  }
  const Status updated = UpdateParent(updated_kinds_, updated_namespaces_);
  if (!updated)
    return Unexpected(updated.error().Annotate("apply and prune succeeded, but ApplySet update failed"));
  return {};
}

}  // namespace flyball::cli
