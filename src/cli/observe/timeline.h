// The timeline of a family of objects: who wrote what, when, and why.
#pragma once

#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/observe/family.h"

namespace flyball::cli {

struct TimelineEntry {
  std::string when;    // RFC 3339; with micro-seconds where they are known
  std::string who;     // "kubectl-create", "replicaset-controller"
  std::string object;  // "Pod default/web-1"
  std::string what;
  bool operator==(const TimelineEntry&) const = default;
};

// From metadata: creation, field managers with the fields they own, deletion.
void AddWrites(const FamilyMember& member, std::vector<TimelineEntry>& to);
// From an Event about the object.
void AddEvent(const FamilyMember& member, const json::Value& event, std::vector<TimelineEntry>& to);
// From a record of a reconcile of the object (ReconcileLog::ToJson).
void AddReconcile(const FamilyMember& member, const json::Value& record, std::vector<TimelineEntry>& to);
// From a line of an audit log, if it is about a change of the object; others add nothing.
void AddAuditLine(const FamilyMember& member, const json::Value& line, std::vector<TimelineEntry>& to);

// By time. Entries without a fraction of a second come before others of the same second.
void SortByTime(std::vector<TimelineEntry>& entries);

}  // namespace flyball::cli
