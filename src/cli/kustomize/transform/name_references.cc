#include <algorithm>
#include <set>

#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/transform/finishing.h"
#include "json/yaml/yaml.h"

namespace flyball::cli::kustomize {
namespace {

using Candidates = std::vector<Resource*>;

template <typename Keep>
void KeepOnly(Candidates& candidates, Keep keep) {
  std::erase_if(candidates, [&](Resource* candidate) { return !keep(*candidate); });
}

bool HadName(const Resource& resource, const std::string& name) {
  return std::any_of(resource.former.begin(), resource.former.end(),
                     [&](const Resource::Former& former) { return former.name == name; });
}

bool WasOfKind(const Resource& resource, const Gvk& gvk) {
  const auto ids = resource.FormerIds();
  return std::any_of(ids.begin(), ids.end(), [&](const ResourceId& id) { return id.gvk.IsSelectedBy(gvk); });
}

// One ends as the other does; an empty one only equals an empty one.
bool SameEnding(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto& shorter = a.size() < b.size() ? a : b;
  const auto& longer = a.size() < b.size() ? b : a;
  if (shorter.empty()) return longer.empty();
  return std::equal(shorter.rbegin(), shorter.rend(), longer.rbegin());
}

bool SameAffixes(const Resource& a, const Resource& b, bool allow_none) {
  const auto same = [&](const std::vector<std::string>& x, const std::vector<std::string>& y) {
    return (allow_none && (x.empty() || y.empty())) || SameEnding(x, y);
  };
  return same(a.prefixes, b.prefixes) && same(a.suffixes, b.suffixes);
}

// The namespaces of the service accounts that a RoleBinding names.
std::set<std::string> AccountNamespaces(const Resource& resource) {
  std::set<std::string> namespaces;
  const json::Value& subjects = resource.object["subjects"];
  if (resource.kind() != "RoleBinding" || !subjects.is_array()) return namespaces;
  for (const json::Value& subject : subjects.as_array())
    if (subject["kind"].string_or("") == "ServiceAccount" && subject["namespace"].is_string())
      namespaces.insert(ScalarText(subject["namespace"]));
  return namespaces;
}

// Those an object can refer to: in its own namespace, or in none.
Candidates CandidatesFor(const Resource& referrer, const ResourceList& resources) {
  Candidates candidates;
  const ResourceId id = referrer.Id();
  const auto namespaces = AccountNamespaces(referrer);
  for (const auto& resource : resources.items()) {
    const ResourceId other = resource->Id();
    if (id.gvk.IsClusterScoped() || other.gvk.IsClusterScoped() ||
        other.EffectiveNamespace() == id.EffectiveNamespace() || namespaces.count(resource->ns()) > 0)
      candidates.push_back(resource.get());
  }
  return candidates;
}

// Fixes one field of one object.
class ReferenceFix {
 public:
  ReferenceFix(Resource& referrer, const Candidates& candidates, const Gvk& target, const FieldSpec& spec)
      : referrer_(referrer), candidates_(candidates), target_(target), spec_(spec) {}

  Status Run() {
    FieldSpec spec = spec_;
    spec.gvk = referrer_.gvk();
    auto fixed = ChangeField(referrer_.object, spec, CreateAs::kNothing,
                             [this](json::Value& node) { return Fix(node); });
    if (fixed) return {};
    return Wrap("updating name reference in '" + spec.path + "' field of '" + referrer_.Id().ToString() + "'",
                fixed.error());
  }

 private:
  Status Fix(json::Value& node) {
    if (node.is_null()) return {};
    if (node.is_object()) return FixMap(node);
    if (!node.is_array()) return FixScalar(node);
    for (json::Value& item : node.as_array()) {
      if (item.is_null()) continue;
      if (item.is_array()) return Fail("a list item is expected to be either a string or a map of string");
      FLYBALL_TRY(item.is_object() ? FixMap(item) : FixScalar(item));
    }
    return {};
  }

  Status FixScalar(json::Value& node) {
    FLYBALL_ASSIGN(const Resource* found, Choose(ScalarText(node), candidates_, false));
    if (found != nullptr && found->name() != ScalarText(node)) node = found->name();
    return {};
  }

  // A map holds the namespace beside the name.
  Status FixMap(json::Value& node) {
    if (node.Find("name") == nullptr) return Fail("path config error; no 'name' field in node");
    const std::string name = ScalarText(std::as_const(node)["name"]);
    FLYBALL_ASSIGN(const Resource* found, Choose(name, InNamespaceOf(node), true));
    if (found == nullptr || (found->name() == name && found->ns().empty())) return {};
    node["name"] = found->name();
    if (!found->ns().empty()) node["namespace"] = found->ns();
    return {};
  }

  Candidates InNamespaceOf(const json::Value& node) const {
    const json::Value* ns = node.Find("namespace");
    if (ns == nullptr) return candidates_;
    const std::string wanted = ScalarText(*ns);
    const auto in = [&](const auto& id_of) {
      Candidates found;
      for (Resource* candidate : candidates_)
        if (id_of(*candidate).EffectiveNamespace() == wanted) found.push_back(candidate);
      return found;
    };
    Candidates original = in([](const Resource& r) { return r.OriginalId(); });
    return !original.empty() ? original : in([](const Resource& r) { return r.Id(); });
  }

  bool RoleFits(const Resource& candidate) const {
    const json::Value& role = std::as_const(referrer_.object)["roleRef"];
    if (!spec_.path.ends_with("roleRef/name") || !role["apiGroup"].is_string() || !role["kind"].is_string())
      return true;
    return WasOfKind(candidate, {ScalarText(role["apiGroup"]), "", ScalarText(role["kind"])});
  }

  bool NamespaceFits(const Resource& candidate) const {
    const ResourceId id = referrer_.Id(), other = candidate.Id();
    return id.gvk.IsClusterScoped() || other.gvk.IsClusterScoped() || candidate.kind() == "ServiceAccount" ||
           id.EffectiveNamespace() == other.EffectiveNamespace();
  }

  // The object that the name means; null if none does.
  Result<const Resource*> Choose(const std::string& name, Candidates candidates, bool with_namespace) const {
    KeepOnly(candidates, [&](const Resource& r) {
      return HadName(r, name) && WasOfKind(r, target_) && RoleFits(r) && NamespaceFits(r);
    });
    if (candidates.size() == 1) return candidates[0];
    KeepOnly(candidates, [&](const Resource& r) { return SameAffixes(r, referrer_, true); });
    if (candidates.size() > 1)
      KeepOnly(candidates, [&](const Resource& r) { return SameAffixes(r, referrer_, false); });
    if (candidates.empty()) return static_cast<const Resource*>(nullptr);
    for (const Resource* other : candidates)
      if (other->name() != candidates[0]->name() || (with_namespace && other->ns() != candidates[0]->ns()))
        return Ambiguous(candidates);
    return candidates[0];
  }

  Unexpected Ambiguous(const Candidates& candidates) const {
    std::string ids, details;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      ids += (i == 0 ? "" : ", ") + candidates[i]->Id().ToString();
      details += "--- possible referral " + std::to_string(i) + ":\n" +
                 json::WriteYaml(candidates[i]->object) + "\n";
    }
    return Fail("found multiple possible referrals: " + ids +
                "\n\n**** Too many possible referral targets to referrer:\n" +
                json::WriteYaml(referrer_.object) + "\n" + details);
  }

  Resource& referrer_;
  const Candidates& candidates_;
  const Gvk& target_;
  const FieldSpec& spec_;
};

}  // namespace

Status FixNameReferences(ResourceList& resources, const std::vector<NameReference>& references) {
  for (const auto& resource : resources.items()) {
    const Gvk original = resource->OriginalId().gvk;
    const Candidates candidates = CandidatesFor(*resource, resources);
    for (const NameReference& reference : references)
      for (const FieldSpec& spec : reference.referrers)
        if (original.IsSelectedBy(spec.gvk))
          FLYBALL_TRY(ReferenceFix(*resource, candidates, reference.target, spec).Run());
  }
  return {};
}

}  // namespace flyball::cli::kustomize
