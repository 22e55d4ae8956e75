#include "node/csi/csi_node.h"

#include <algorithm>
#include <limits>

#include "api/types/core.h"
#include "api/types/storage.h"
#include "json/json.h"

namespace flyball::node {
namespace {

constexpr char kNodeIdAnnotation[] = "csi.volume.kubernetes.io/nodeid";
constexpr int kWriteAttempts = 5;

CSINode NewCsiNode(const std::string& name, const std::string& uid) {
  CSINode made;
  made.metadata.name = name;
  made.metadata.owner_references.push_back({.kind = "Node", .name = name, .uid = uid, .api_version = "v1"});
  return made;
}

bool BelongsTo(const CSINode& object, const std::string& uid) {
  const auto& owners = object.metadata.owner_references;
  return std::any_of(owners.begin(), owners.end(), [&](const OwnerReference& owner) {
    return owner.kind == "Node" && owner.name == object.metadata.name && owner.uid == uid;
  });
}

CSINodeDriver EntryOf(const std::string& driver, const CsiNodeInfo& info) {
  CSINodeDriver entry;
  entry.name = driver;
  entry.node_id = info.node_id;
  for (const auto& [key, value] : info.topology) entry.topology_keys.push_back(key);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (info.max_volumes > 0) {
    VolumeNodeResources limit;
    limit.count = static_cast<std::int32_t>(std::min(info.max_volumes, kMost));
    entry.allocatable = limit;
  }
  return entry;
}

}  // namespace

Status CsiNodeObject::Ensure(const std::string& node_uid) {
  MutexLock lock(mu_);
  node_uid_ = node_uid;
  FLYBALL_TRY(Write({}));
  for (const auto& [driver, info] : installed_) {
    FLYBALL_TRY(WriteNode(driver));
    FLYBALL_TRY(Write(driver));
  }
  return {};
}

Status CsiNodeObject::Install(const std::string& driver, const CsiNodeInfo& info) {
  if (info.node_id.empty())
    return Unexpected(InternalError("error adding CSI driver node info: driverNodeID must not be empty"));
  MutexLock lock(mu_);
  installed_[driver] = info;
  if (const Status written = WriteNode(driver); !written)
    return Unexpected(written.error().Annotate("error updating Node object with CSI driver node info"));
  if (const Status written = Write(driver); !written)
    return Unexpected(written.error().Annotate("error updating CSINode object with CSI driver node info"));
  return {};
}

Status CsiNodeObject::Uninstall(const std::string& driver) {
  MutexLock lock(mu_);
  installed_.erase(driver);
  FLYBALL_TRY(Write(driver));
  return WriteNode(driver);
}

// Others write the object too: a conflict, or one that had to be removed first, begins again.
Status CsiNodeObject::Write(const std::string& driver) {
  Status written;
  for (int i = 0; i < kWriteAttempts; ++i) {
    written = TryWrite(driver);
    const bool again =
        !written && (written.error().Is(Reason::kConflict) || written.error().Is(Reason::kAlreadyExists));
    if (!again) break;
  }
  return written;
}

Status CsiNodeObject::TryWrite(const std::string& driver) {
  auto found = client_.Get<CSINode>("", node_);
  if (!found && found.error().Is(Reason::kNotFound)) found = client_.Create(NewCsiNode(node_, node_uid_));
  if (!found) return Unexpected(found.error());
  if (!BelongsTo(*found, node_uid_)) {
    FLYBALL_TRY(client_.Delete<CSINode>("", node_, {.uid = found->metadata.uid}));
    return Unexpected(Error(Reason::kConflict, "CSINode " + node_ + " was owned by different node"));
  }
  if (driver.empty()) return {};
  auto& drivers = found->spec.drivers;
  const auto known = std::find_if(drivers.begin(), drivers.end(),
                                  [&](const CSINodeDriver& entry) { return entry.name == driver; });
  const auto wanted = installed_.find(driver);
  if (wanted == installed_.end()) {
    if (known == drivers.end()) return {};
    drivers.erase(known);
  } else {
    CSINodeDriver entry = EntryOf(driver, wanted->second);
    if (known != drivers.end() && *known == entry) return {};
    if (known != drivers.end()) drivers.erase(known);
    drivers.push_back(std::move(entry));
  }
  FLYBALL_TRY(client_.Update(*found));
  return {};
}

// The Node's annotation lists what the drivers call it; its labels say where their volumes can be reached.
Status CsiNodeObject::WriteNode(const std::string& driver) {
  FLYBALL_ASSIGN(const Node found, client_.Get<Node>("", node_));
  const auto known = found.metadata.annotations.find(kNodeIdAnnotation);
  json::Object ids;
  if (known != found.metadata.annotations.end())
    if (const auto parsed = json::Parse(known->second); parsed && parsed->is_object())
      ids = parsed->as_object();
  json::Object labels;
  const auto wanted = installed_.find(driver);
  if (wanted == installed_.end()) {
    ids.Erase(driver);
  } else {
    ids.Set(driver, wanted->second.node_id);
    for (const auto& [key, value] : wanted->second.topology) {
      const auto label = found.metadata.labels.find(key);
      if (label != found.metadata.labels.end() && label->second != value)
        return Unexpected(InternalError("detected topology value collision: driver reported \"" + key +
                                        "\":\"" + value + "\" but existing label is \"" + key + "\":\"" +
                                        label->second + "\""));
      labels.Set(key, value);
    }
  }
  json::Object annotations;
  if (ids.empty())
    annotations.Set(kNodeIdAnnotation, nullptr);
  else
    annotations.Set(kNodeIdAnnotation, json::Write(json::Value(std::move(ids))));
  const json::Value patch = json::Object{
      {"metadata", json::Object{{"annotations", std::move(annotations)}, {"labels", std::move(labels)}}}};
  FLYBALL_TRY(client_.Of<Node>().Patch("", node_, PatchType::kMerge, patch));
  return {};
}

}  // namespace flyball::node
