// The past templates of a StatefulSet or a DaemonSet, each a ControllerRevision with a number (upstream:
// pkg/controller/history).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/apps.h"
#include "client/client.h"

namespace flyball::controllers {

using RevisionPtr = std::shared_ptr<const ControllerRevision>;

// What a revision holds: a patch that puts the template back.
json::Value TemplatePatch(const PodTemplateSpec& pod_template);
// Ten characters of the alphabet of generated names: equal for equal data and collision counts.
std::string RevisionHash(const json::Value& data, std::int32_t collision_count);

// By number; then by age and name.
void SortRevisions(std::vector<RevisionPtr>& revisions);
std::int64_t NextRevision(const std::vector<RevisionPtr>& sorted);

// Finds the revision of a template among its owner's, or makes it.
struct RevisionRequest {
  ObjectMeta metadata;  // of a new one: namespace, owner, labels, annotations; the name without the hash
  std::string hash_label;
  json::Value data;
};
// The revision with that data: the newest if it is that one; an older one is numbered anew, as the newest; or
// a new one. A name that is taken by other data raises `collision_count` and is tried again.
Result<RevisionPtr> EnsureRevision(const Client& client, std::vector<RevisionPtr> known,
                                   const RevisionRequest& request, std::int32_t& collision_count);

// Deletes the oldest of those that are not `live` (names, or values of the hash label), keeping `limit`.
Status DeleteOldRevisions(const Client& client, std::vector<RevisionPtr> known,
                          const std::vector<std::string>& live, int limit);

}  // namespace flyball::controllers
