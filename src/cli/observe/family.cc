#include "cli/observe/family.h"

#include <algorithm>
#include <set>

#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

std::string UidOf(const json::Value& object) {
  return std::string(object["metadata"]["uid"].string_or(""));
}

bool IsOwnedByOneOf(const json::Value& object, const std::set<std::string>& uids) {
  const json::Array& owners = Elements(object["metadata"]["ownerReferences"]);
  return std::any_of(owners.begin(), owners.end(), [&](const json::Value& owner) {
    return uids.count(std::string(owner["uid"].string_or(""))) > 0;
  });
}

// Everything in the namespace that has an owner.
std::vector<FamilyMember> OwnedObjects(Session& session, const std::vector<ApiResource>& resources,
                                       const std::string& ns) {
  std::vector<FamilyMember> out;
  std::set<std::string> seen;
  for (const ApiResource& resource : resources) {
    const bool listed =
        std::find(resource.verbs.begin(), resource.verbs.end(), "list") != resource.verbs.end();
    const bool inside = ns.empty() || resource.ref.namespaced;
    // Events are about objects, and belong to none. Endpoints have no owner, and the server warns of them.
    if (!listed || !inside || resource.ref.kind == "Event" || resource.ref.kind == "Endpoints") continue;
    auto items = ListObjects(session, resource.ref, ns);
    if (!items) continue;
    for (json::Value& item : *items)
      if (!Elements(std::as_const(item)["metadata"]["ownerReferences"]).empty() &&
          seen.insert(UidOf(item)).second)
        out.push_back({resource.ref, std::move(item)});
  }
  return out;
}

}  // namespace

std::string FamilyMember::Name() const {
  const json::Value& metadata = object["metadata"];
  const ObjectKey key{std::string(metadata["namespace"].string_or("")),
                      std::string(metadata["name"].string_or(""))};
  return kind.kind + " " + key.ToString();
}

Result<std::vector<FamilyMember>> FamilyOf(Session& session, const KindRef& kind, const std::string& ns,
                                           const std::string& name) {
  FLYBALL_ASSIGN(json::Value head, session.Get(kind, ns, name));
  FLYBALL_ASSIGN(const auto resources, session.mapper().Resources());
  std::vector<FamilyMember> rest = OwnedObjects(session, resources, ns);
  std::set<std::string> uids{UidOf(head)};
  std::vector<FamilyMember> family;
  family.push_back({kind, std::move(head)});
  for (bool found = true; found;) {
    found = false;
    for (auto member = rest.begin(); member != rest.end();) {
      if (!IsOwnedByOneOf(member->object, uids)) {
        ++member;
        continue;
      }
      uids.insert(UidOf(member->object));
      family.push_back(std::move(*member));
      member = rest.erase(member);
      found = true;
    }
  }
  return family;
}

}  // namespace flyball::cli
