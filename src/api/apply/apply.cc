#include "api/apply/apply.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/apply/apply_merge.h"
#include "api/apply/last_applied.h"
#include "api/apply/object_fields.h"
#include "api/values/time.h"

namespace flyball::api {
namespace {

using json::Value;
using Operation = ManagedEntry::Operation;

constexpr std::string_view kBeforeFirstApply = "before-first-apply";
constexpr std::string_view kKubectl = "kubectl";

// "apps/v1, Kind=Deployment", "/v1, Kind=Pod": Go's GroupVersionKind.
std::string KindText(const Value& object) {
  const std::string_view version = object["apiVersion"].string_or("");
  std::string out(version.find('/') == std::string_view::npos ? "/" : "");
  return out.append(version).append(", Kind=").append(object["kind"].string_or(""));
}

Error UnfitError(const Value& configuration, const Error& why) {
  const Value& metadata = configuration["metadata"];
  std::string message = "failed to create typed patch object (";
  message.append(metadata["namespace"].string_or("")).append("/").append(metadata["name"].string_or(""));
  message.append("; ").append(KindText(configuration)).append("): ").append(why.message());
  return {Reason::kUnknown, std::move(message)};
}

Status CheckRequest(const TypeInfo& type, std::string_view kind, const Value& configuration,
                    const FieldWriter& writer) {
  if (configuration["apiVersion"].string_or("") != writer.api_version ||
      configuration["kind"].string_or("") != kind) {
    return Unexpected(BadRequest("invalid object type: " + KindText(configuration)));
  }
  if (!configuration["metadata"]["managedFields"].is_null()) {
    return Unexpected(BadRequest("metadata.managedFields must be nil"));
  }
  if (auto fits = CheckConfiguration(type, configuration); !fits) {
    return Unexpected(UnfitError(configuration, fits.error()));
  }
  return {};
}

bool IsManagedFields(const json::Object::Member& member) {
  return member.first == "managedFields";
}

Value CopyWithoutManagedFields(const Value& object) {
  json::Object out;
  out.Reserve(object.size());
  for (const auto& [name, value] : object.as_object()) {
    if (name != "metadata" || !value.is_object()) {
      out.Append(name, value);
      continue;
    }
    json::Object metadata;
    metadata.Reserve(value.size());
    for (const auto& member : value.as_object()) {
      if (!IsManagedFields(member)) metadata.Append(member.first, member.second);
    }
    out.Append(name, std::move(metadata));
  }
  return out;
}

// Requires that b has no managedFields.
bool SameButForManagedFields(const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, value] : a.as_object()) {
    const Value* other = b.Find(name);
    if (other == nullptr) return false;
    const Value* managed = name == "metadata" ? value.Find("managedFields") : nullptr;
    if (managed == nullptr) {
      if (value != *other) return false;
      continue;
    }
    if (value.size() != other->size() + 1) return false;
    for (const auto& member : value.as_object()) {
      const Value* same = other->Find(member.first);
      if (!IsManagedFields(member) && (same == nullptr || *same != member.second)) return false;
    }
  }
  return true;
}

struct Conflict {
  std::string owner;
  std::string path;
};

// Upstream's Status for conflicts; they come grouped by owner.
Error ConflictError(const std::vector<Conflict>& conflicts) {
  ErrorDetails details;
  std::string message;
  for (const Conflict& conflict : conflicts) {
    details.causes.push_back({"FieldManagerConflict", "conflict with " + conflict.owner, conflict.path});
    if (conflicts.size() == 1) {
      message = "Apply failed with 1 conflict: conflict with " + conflict.owner + ": " + conflict.path;
      break;
    }
    if (&conflict == &conflicts.front() || (&conflict)[-1].owner != conflict.owner) {
      message.append(message.empty() ? "" : "\n").append("conflicts with " + conflict.owner + ":");
    }
    message.append("\n- ").append(conflict.path);
  }
  if (conflicts.size() > 1) {
    message = "Apply failed with " + std::to_string(conflicts.size()) + " conflicts: " + message;
  }
  return {Reason::kConflict, CodeOf(Reason::kConflict), std::move(message), std::move(details)};
}

// One apply of one configuration to one object.
class Application {
 public:
  Application(const TypeInfo& type, const Value* live, const Value& configuration, const FieldWriter& writer)
      : type_(type), live_(live), configuration_(configuration), writer_(writer) {
    mine_.manager = writer.manager;
    mine_.operation = Operation::kApply;
    mine_.api_version = writer.api_version;
    mine_.subresource = writer.subresource;
  }

  Result<Applied> Run(bool force) {
    ReadOwners();
    Value merged = live_ != nullptr ? CopyWithoutManagedFields(*live_) : Value(json::Object());
    merged = MergeConfiguration(type_, std::move(merged), configuration_);
    ClaimFields();
    merged = Prune(std::move(merged));
    changes_ = CompareObjects(type_, live_ != nullptr ? *live_ : Value(), merged);
    ExcludeReset();
    if (!force) FLYBALL_TRY(CheckConflicts());
    return Finish(std::move(merged));
  }

 private:
  void ReadOwners();
  void TrackBeforeFirstApply();
  void ClaimFields();
  Value Prune(Value merged);
  void ExcludeReset();
  // What changed, in the version that the owner's fields are of.
  const Comparison& ChangesFor(const ManagedEntry& owner) const;
  Status CheckConflicts();
  Result<Applied> Finish(Value merged);

  const TypeInfo& type_;
  const Value* live_;  // null if there is none
  const Value& configuration_;
  const FieldWriter& writer_;
  ManagedFields owners_;
  ManagedEntry mine_;   // what this manager owns from now on; not among owners_
  FieldSet last_;       // what it owned before
  FieldSet all_owned_;  // by anyone, this manager's new fields included; only if something may be pruned
  Comparison changes_;
  std::vector<VersionedChanges> elsewhere_;
};

void Application::ReadOwners() {
  if (live_ == nullptr) return;
  owners_ = ManagedFields::Stored((*live_)["metadata"]["managedFields"]);
  if (owners_.empty()) TrackBeforeFirstApply();
  if (ManagedEntry* before = owners_.Find(mine_)) {
    last_ = before->fields.set();
    mine_.time = before->time;
    owners_.entries().erase(owners_.entries().begin() + (before - owners_.entries().data()));
  }
}

void Application::TrackBeforeFirstApply() {
  Comparison everything = CompareObjects(type_, Value(), *live_);
  FieldSet fields = everything.added.Union(everything.modified);
  if (writer_.reset != nullptr) fields = fields.RecursiveDifference(*writer_.reset);
  if (fields.empty()) return;
  owners_.Set({.manager = std::string(kBeforeFirstApply),
               .operation = Operation::kUpdate,
               .api_version = std::string(writer_.api_version),
               .subresource = std::string(writer_.subresource),
               .time = FormatTime(writer_.now),
               .fields = std::move(fields)});
}

void Application::ClaimFields() {
  FieldSet fields = FieldsOf(type_, configuration_);
  if (writer_.reset != nullptr) fields = fields.RecursiveDifference(*writer_.reset);
  mine_.fields = std::move(fields);
  if (last_.Difference(mine_.fields.set()).empty()) return;
  all_owned_ = mine_.fields.set();
  for (ManagedEntry& entry : owners_.entries()) all_owned_ = all_owned_.Union(entry.fields.set());
}

// Removes what only this manager owned and no longer applies. Whoever owns a path keeps it, and what lies
// beneath a removed path without an owner of its own goes with it only if it was this manager's.
Value Application::Prune(Value merged) {
  if (all_owned_.empty()) return merged;
  const FieldSet last = WithNamedFields(type_, last_);
  const FieldSet present = WithNamedFields(type_, FieldsOf(type_, merged));
  const auto remaining_after = [&](const FieldSet& removed) {
    return WithNamedFields(type_, FieldsOf(type_, WithoutFields(type_, merged, removed)));
  };
  const FieldSet unowned =
      present.Difference(remaining_after(last).Union(WithNamedFields(type_, all_owned_)));
  const FieldSet gone = present.Difference(remaining_after(unowned)).Intersection(last);
  return PruneFields(type_, std::move(merged), gone, mine_.fields.set());
}

void Application::ExcludeReset() {
  elsewhere_.assign(writer_.other_versions.begin(), writer_.other_versions.end());
  if (writer_.reset == nullptr) return;
  const auto exclude = [this](Comparison& changes) {
    for (FieldSet* set : {&changes.added, &changes.modified, &changes.removed}) {
      *set = set->RecursiveDifference(*writer_.reset);
    }
  };
  exclude(changes_);
  for (auto& there : elsewhere_) exclude(there.changes);
}

const Comparison& Application::ChangesFor(const ManagedEntry& owner) const {
  for (const auto& there : elsewhere_) {
    if (there.api_version == owner.api_version && owner.api_version != writer_.api_version)
      return there.changes;
  }
  return changes_;
}

Status Application::CheckConflicts() {
  const auto taken_from = [this](const ManagedEntry& owner) {
    const Comparison& changes = ChangesFor(owner);
    return changes.modified.Union(changes.added);
  };
  std::vector<ManagedEntry*> contested;
  for (ManagedEntry& entry : owners_.entries()) {
    if (entry.fields.Intersects(taken_from(entry))) contested.push_back(&entry);
  }
  if (contested.empty()) return {};
  std::sort(contested.begin(), contested.end(),
            [](const ManagedEntry* a, const ManagedEntry* b) { return a->Describe() < b->Describe(); });
  const FieldSet allowed =
      mine_.manager == kKubectl ? LastAppliedFields(type_, *live_, writer_.api_version) : FieldSet();
  std::vector<Conflict> conflicts;
  for (ManagedEntry* entry : contested) {
    entry->fields.set()
        .Intersection(taken_from(*entry))
        .Difference(allowed)
        .ForEach([&](std::span<const PathElement> path) {
          conflicts.push_back({entry->Describe(), PathText(path)});
        });
  }
  if (conflicts.empty()) return {};
  return Unexpected(ConflictError(conflicts));
}

Result<Applied> Application::Finish(Value merged) {
  const auto lost_in = [](const Comparison& c) { return c.modified.Union(c.added).Union(c.removed); };
  const FieldSet lost = lost_in(changes_);
  for (ManagedEntry& entry : owners_.entries()) {
    const Comparison& changes = ChangesFor(entry);
    entry.fields.Remove(&changes == &changes_ ? lost : lost_in(changes));
  }
  owners_.DropEmpty();
  const bool changed = live_ == nullptr || !SameButForManagedFields(*live_, merged);
  mine_.fields.Remove(UnownedFields());
  if (changed) mine_.time = FormatTime(writer_.now);
  if (!mine_.fields.empty()) owners_.entries().push_back(std::move(mine_));
  if (writer_.manager == kKubectl) UpdateLastApplied(merged, configuration_);
  if (!owners_.empty()) merged["metadata"]["managedFields"] = std::move(owners_).Encode();
  return Applied{std::move(merged), changed};
}

}  // namespace

Result<Applied> Apply(const TypeInfo& type, std::string_view kind, const Value* live,
                      const Value& configuration, const FieldWriter& writer, bool force) {
  FLYBALL_TRY(CheckRequest(type, kind, configuration, writer));
  return Application(type, live, configuration, writer).Run(force);
}

}  // namespace flyball::api
