#include "cli/kustomize/resource/resource_list.h"

#include <algorithm>

#include "cli/kustomize/resource/failure.h"
#include "json/json.h"

namespace flyball::cli::kustomize {
namespace {

// Adds the members of `from` that `to` lacks. An empty result is removed.
void Inherit(json::Value& object, const char* member, const json::Value& from) {
  json::Value& to = object[member];
  if (!to.is_object()) to = json::Object();
  if (from.is_object())
    for (const auto& [key, value] : from.as_object())
      if (!to.as_object().contains(key)) to.as_object().Set(key, value);
  if (to.empty()) object.as_object().Erase(member);
}

// What a generated object keeps of the one whose place it takes.
void TakeIdentity(Resource& generated, const Resource& old) {
  json::Value& metadata = generated.object["metadata"];
  Inherit(metadata, "labels", old.object["metadata"]["labels"]);
  Inherit(metadata, "annotations", old.object["metadata"]["annotations"]);
  generated.SetName(old.name());
  generated.SetNamespace(old.ns());
  generated.former = old.former;
  generated.prefixes = old.prefixes;
  generated.suffixes = old.suffixes;
  generated.var_names = old.var_names;
  generated.changes = old.changes;
  generated.needs_hash = generated.needs_hash && old.needs_hash;
}

const char* BehaviorName(Behavior behavior) {
  switch (behavior) {
    case Behavior::kCreate:
      return "create";
    case Behavior::kReplace:
      return "replace";
    case Behavior::kMerge:
      return "merge";
    case Behavior::kUnspecified:
      break;
  }
  return "unspecified";
}

bool ReplacesOrMerges(Behavior behavior) {
  return behavior == Behavior::kMerge || behavior == Behavior::kReplace;
}

}  // namespace

Status ResourceList::Append(std::unique_ptr<Resource> resource) {
  const ResourceId id = resource->Id();
  for (const auto& item : items_)
    if (id.IsSame(item->Id()))
      return Fail("may not add resource with an already registered id: " + id.ToString());
  items_.push_back(std::move(resource));
  return {};
}

Status ResourceList::AppendAll(ResourceList other) {
  for (auto& resource : other.items_) FLYBALL_TRY(Append(std::move(resource)));
  return {};
}

Status ResourceList::Absorb(std::unique_ptr<Resource> generated) {
  const ResourceId id = generated->Id();
  const auto matches = WithAnyId([&](const ResourceId& other) { return id.IsSame(other); });
  if (matches.empty()) {
    if (ReplacesOrMerges(generated->behavior))
      return Fail("id " + id.GoText() + " does not exist; cannot merge or replace");
    return Append(std::move(generated));
  }
  if (matches.size() > 1) {
    std::string objects;
    for (const Resource* match : matches)
      objects += (objects.empty() ? "" : " ") + json::Write(match->object);
    return Fail("found multiple objects [" + objects + "] that could accept merge of " + id.ToString());
  }
  return ReplaceOrMerge(*matches[0], std::move(generated));
}

Status ResourceList::ReplaceOrMerge(Resource& old, std::unique_ptr<Resource> generated) {
  if (!ReplacesOrMerges(generated->behavior))
    return Fail("id " + generated->Id().GoText() + " exists; can not use behavior: '" +
                BehaviorName(generated->behavior) + "', behavior must be merge or replace");
  TakeIdentity(*generated, old);
  if (generated->behavior == Behavior::kMerge) {
    Inherit(generated->object, "data", old.object["data"]);
    Inherit(generated->object, "binaryData", old.object["binaryData"]);
    if (old.origin) generated->origin = old.origin;
  }
  generated->behavior = old.behavior;
  const auto place =
      std::find_if(items_.begin(), items_.end(), [&](const auto& r) { return r.get() == &old; });
  *place = std::move(generated);
  return {};
}

void ResourceList::DropEmpty() {
  std::erase_if(items_, [](const auto& resource) { return resource->empty(); });
}

std::vector<Resource*> ResourceList::WithAnyId(const std::function<bool(const ResourceId&)>& matches) const {
  std::vector<Resource*> found;
  for (const auto& resource : items_) {
    if (resource->empty()) continue;
    const auto ids = resource->AllIds();
    if (std::any_of(ids.begin(), ids.end(), matches)) found.push_back(resource.get());
  }
  return found;
}

Result<Resource*> ResourceList::FindById(const ResourceId& id) const {
  const auto found = WithAnyId([&](const ResourceId& other) { return id.IsSame(other); });
  if (found.size() == 1) return found[0];
  const std::string text = id.ToString();
  return Fail((found.empty() ? "no matches for Id " : "multiple matches for Id ") + text +
              "; failed to find unique target for patch " + text);
}

Result<std::vector<Resource*>> ResourceList::Select(const Selector& selector) const {
  FLYBALL_ASSIGN(const ResourceMatcher matcher, ResourceMatcher::Create(selector));
  std::vector<Resource*> selected;
  for (const auto& resource : items_) {
    const ResourceId now = resource->Id(), original = resource->OriginalId();
    if (!matcher.MatchesNamespace(original.EffectiveNamespace()) &&
        !matcher.MatchesNamespace(now.EffectiveNamespace()))
      continue;
    if (!matcher.MatchesName(original.name) && !matcher.MatchesName(now.name)) continue;
    if (matcher.MatchesGvk(now.gvk) && matcher.MatchesMetadata(*resource)) selected.push_back(resource.get());
  }
  return selected;
}

}  // namespace flyball::cli::kustomize
