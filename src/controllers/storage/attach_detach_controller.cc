#include "controllers/storage/attach_detach_controller.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/storage.h"
#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "controller/objects/csi_names.h"
#include "controller/objects/owner.h"
#include "controller/objects/pod_node_index.h"
#include "controller/pods/pod_state.h"
#include "controllers/storage/claim_index.h"

namespace flyball::controllers {
namespace {

constexpr char kManagedAnnotation[] = "volumes.kubernetes.io/controller-managed-attach-detach";
constexpr char kOutOfServiceTaint[] = "node.kubernetes.io/out-of-service";
constexpr char kNodeIndex[] = "node", kVolumeIndex[] = "volume";
// Upstream: ReconcilerMaxWaitForUnmountDuration.
constexpr Duration kMaxWaitForUnmount = std::chrono::minutes(6);
// Upstream: csiTimeout, for which one attempt to attach waits.
constexpr Duration kAttachTimeout = std::chrono::minutes(2);

using UserPod = std::shared_ptr<const Pod>;
using VolumePtr = std::shared_ptr<const PersistentVolume>;
using AttachmentPtr = std::shared_ptr<const VolumeAttachment>;

std::string UniqueNameOf(const PersistentVolume& volume) {
  return CsiUniqueVolumeName(volume.spec.csi->driver, volume.spec.csi->volume_handle);
}

std::string VolumeNameOf(const VolumeAttachment& attachment) {
  return attachment.spec.source.persistent_volume_name.value_or("");
}

// Upstream: IsMultiAttachAllowed.
bool MayBeOnManyNodes(const PersistentVolume& volume) {
  const auto& modes = volume.spec.access_modes;
  return modes.empty() || std::any_of(modes.begin(), modes.end(), [](const std::string& mode) {
           return mode == "ReadWriteMany" || mode == "ReadOnlyMany";
         });
}

bool IsNodeReadyNow(const Node* node) {
  if (!node) return false;
  const auto& conditions = node->status.conditions;
  return std::any_of(conditions.begin(), conditions.end(), [](const NodeCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

bool HasOutOfServiceTaint(const Node* node) {
  if (!node) return false;
  const auto& taints = node->spec.taints;
  return std::any_of(taints.begin(), taints.end(),
                     [](const Taint& taint) { return taint.key == kOutOfServiceTaint; });
}

bool HasVolume(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A volume that pods on one node use.
struct WantedVolume {
  VolumePtr volume;
  std::vector<UserPod> pods;
};

// Thread-safe. One reconcile of a node at a time.
class AttachDetach {
 public:
  Result<Action> Reconcile(const ObjectKey& key, Context& ctx);

 private:
  // One reconcile of one node.
  struct Round {
    Context& ctx;
    const std::string& name;                     // of the node
    std::shared_ptr<const Node> node;            // null: it is gone
    std::map<std::string, WantedVolume> wanted;  // by unique name
    std::set<std::string> present{};             // wanted ones that have an attachment
    std::vector<AttachedVolume> attached{};      // what the Node will say
    std::vector<std::pair<std::string, AttachmentPtr>> detaching{};
    std::optional<Duration> look_again{};

    void LookAgainAfter(Duration delay) { look_again = std::min(look_again.value_or(delay), delay); }
  };
  using NodeAndName = std::pair<std::string, std::string>;  // the node, and a volume's unique name

  std::map<std::string, WantedVolume> WantedOn(const std::string& node, Context& ctx) const;
  VolumePtr VolumeOf(const Pod& pod, const ObjectKey& claim, Context& ctx) const;
  static bool NeedsAttaching(const PersistentVolume& volume, Context& ctx);
  static std::string UniqueNameFor(const VolumeAttachment& attachment, const Round& round);

  void Look(const AttachmentPtr& attachment, Round& round);
  void LookAtWanted(const WantedVolume& wanted, const VolumeAttachment& attachment, const std::string& unique,
                    Round& round);
  bool MayDetach(const std::string& unique, Round& round);
  Status Detach(Round& round);
  Status Attach(Round& round);
  bool IsElsewhere(const WantedVolume& wanted, const std::string& unique, Round& round);
  static void SayElsewhere(const WantedVolume& wanted, const std::set<std::string>& nodes, Round& round);
  static Status WriteAttached(Round& round);

  Mutex mu_;
  // Since when a volume is not wanted on a node any more.
  std::map<NodeAndName, TimePoint> unwanted_ FLYBALL_GUARDED_BY(mu_);
  // What was said last about a volume that is not attached yet.
  std::map<NodeAndName, std::string> said_ FLYBALL_GUARDED_BY(mu_);
};

bool AttachDetach::NeedsAttaching(const PersistentVolume& volume, Context& ctx) {
  if (!volume.spec.csi) return false;
  const auto driver = ctx.lister<CSIDriver>().Get("", volume.spec.csi->driver);
  return !driver || driver->spec.attach_required.value_or(true);
}

VolumePtr AttachDetach::VolumeOf(const Pod& pod, const ObjectKey& key, Context& ctx) const {
  const auto claim = ctx.lister<PersistentVolumeClaim>().Get(key.ns, key.name);
  if (!claim || claim->status.phase != "Bound" || claim->spec.volume_name.empty()) return nullptr;
  for (const Volume& volume : pod.spec.volumes)
    if (volume.ephemeral && key.name == pod.metadata.name + "-" + volume.name && !IsControlledBy(*claim, pod))
      return nullptr;
  auto volume = ctx.lister<PersistentVolume>().Get("", claim->spec.volume_name);
  if (!volume || !volume->spec.claim_ref || volume->spec.claim_ref->uid != claim->metadata.uid)
    return nullptr;
  return volume;
}

std::map<std::string, WantedVolume> AttachDetach::WantedOn(const std::string& node, Context& ctx) const {
  std::map<std::string, WantedVolume> wanted;
  for (const UserPod& pod : PodsOnNode(ctx.lister<Pod>(), node)) {
    if (IsPodFinished(*pod)) continue;
    for (const ObjectKey& claim : ClaimsOf(*pod)) {
      const VolumePtr volume = VolumeOf(*pod, claim, ctx);
      if (!volume || !NeedsAttaching(*volume, ctx)) continue;
      WantedVolume& entry = wanted[UniqueNameOf(*volume)];
      entry.volume = volume;
      entry.pods.push_back(pod);
    }
  }
  return wanted;
}

// Empty if it is none of this controller's, or nobody knows which volume it is.
std::string AttachDetach::UniqueNameFor(const VolumeAttachment& attachment, const Round& round) {
  const auto volume = round.ctx.lister<PersistentVolume>().Get("", VolumeNameOf(attachment));
  if (volume) return NeedsAttaching(*volume, round.ctx) ? UniqueNameOf(*volume) : "";
  if (!round.node) return "";
  // The volume's object is gone; the Node still has its name.
  constexpr std::string_view kPrefix = "kubernetes.io/csi/";
  for (const AttachedVolume& known : round.node->status.volumes_attached) {
    const std::size_t mark = known.name.find('^');
    if (!known.name.starts_with(kPrefix) || mark == std::string::npos) continue;
    const std::string driver = known.name.substr(kPrefix.size(), mark - kPrefix.size());
    if (CsiAttachmentName(driver, known.name.substr(mark + 1), round.name) == attachment.metadata.name)
      return known.name;
  }
  return "";
}

void AttachDetach::LookAtWanted(const WantedVolume& wanted, const VolumeAttachment& attachment,
                                const std::string& unique, Round& round) {
  const std::string of_volume = " for volume \"" + wanted.volume->metadata.name + "\" ";
  std::string now, message;
  if (attachment.status.attached) {
    now = "attached";
    const auto& known = round.node->status.volumes_attached;
    const bool news = std::none_of(known.begin(), known.end(),
                                   [&](const AttachedVolume& volume) { return volume.name == unique; });
    if (news) message = "AttachVolume.Attach succeeded" + of_volume;
  } else if (attachment.status.attach_error) {
    now = attachment.status.attach_error->message;
    message = "AttachVolume.Attach failed" + of_volume + ": " + now;
  } else {
    const Duration waited =
        round.ctx.Now() - attachment.metadata.creation_timestamp.value_or(api::Time()).ToTimePoint();
    if (waited < kAttachTimeout) return round.LookAgainAfter(kAttachTimeout - waited);
    now = "timed out";
    message = "AttachVolume.Attach failed" + of_volume + ": timed out waiting for external-attacher of " +
              attachment.spec.attacher + " CSI driver to attach volume " +
              wanted.volume->spec.csi->volume_handle;
  }
  {
    MutexLock lock(mu_);
    if (std::exchange(said_[{round.name, unique}], now) == now) return;
  }
  if (message.empty()) return;
  const bool well = attachment.status.attached;
  for (const UserPod& pod : wanted.pods)
    round.ctx.recorder().Record(TargetOf(*pod), well ? "Normal" : "Warning",
                                well ? "SuccessfulAttachVolume" : "FailedAttachVolume", message);
}

// Sorts one attachment of the node: wanted, to be detached now, or later.
void AttachDetach::Look(const AttachmentPtr& attachment, Round& round) {
  const std::string unique = UniqueNameFor(*attachment, round);
  if (unique.empty()) return;
  const auto wanted = round.wanted.find(unique);
  if (wanted != round.wanted.end()) round.present.insert(unique);
  // It is being detached, and nothing may be mounted of it any more.
  if (attachment->metadata.deletion_timestamp) return;
  if (wanted != round.wanted.end()) {
    {
      MutexLock lock(mu_);
      unwanted_.erase({round.name, unique});
    }
    if (round.node) LookAtWanted(wanted->second, *attachment, unique, round);
  } else if (MayDetach(unique, round)) {
    round.detaching.emplace_back(unique, attachment);
    return;
  }
  if (attachment->status.attached) round.attached.push_back({.name = unique});
}

bool AttachDetach::MayDetach(const std::string& unique, Round& round) {
  Duration waited;
  {
    MutexLock lock(mu_);
    said_.erase({round.name, unique});
    waited = round.ctx.Now() - unwanted_.try_emplace({round.name, unique}, round.ctx.Now()).first->second;
  }
  if (HasOutOfServiceTaint(round.node.get())) return true;
  // Of a node that is gone nobody knows what it uses.
  const bool in_use = !round.node || HasVolume(round.node->status.volumes_in_use, unique);
  if (!in_use) return true;
  if (waited < kMaxWaitForUnmount) {
    round.LookAgainAfter(kMaxWaitForUnmount - waited);
    return false;
  }
  if (IsNodeReadyNow(round.node.get())) return false;
  log::Warning("volume is detached by force", {{"node", round.name}, {"volume", unique}});
  return true;
}

// The Node does not list them any more: what it says now is the last word.
Status AttachDetach::Detach(Round& round) {
  if (round.detaching.empty()) return {};
  std::vector<std::string> in_use;
  if (round.node) {
    const auto node = round.ctx.client().Get<Node>("", round.name);
    if (node) in_use = node->status.volumes_in_use;
    if (!node && !node.error().Is(Reason::kNotFound)) return Unexpected(node.error());
  }
  for (const auto& [unique, attachment] : round.detaching) {
    const bool was_in_use = round.node && HasVolume(round.node->status.volumes_in_use, unique);
    // It is in use again, by a pod that came since; its volume is attached anew when it is seen.
    if (!was_in_use && HasVolume(in_use, unique)) continue;
    const Status gone = round.ctx.client().Delete(*attachment);
    if (!gone && !gone.error().Is(Reason::kNotFound)) return gone;
    MutexLock lock(mu_);
    unwanted_.erase({round.name, unique});
  }
  return {};
}

void AttachDetach::SayElsewhere(const WantedVolume& wanted, const std::set<std::string>& nodes,
                                Round& round) {
  std::vector<UserPod> others;
  if (const auto& claim = wanted.volume->spec.claim_ref)
    for (const UserPod& pod : PodsOfClaim(round.ctx.lister<Pod>(), {claim->namespace_, claim->name}))
      if (!IsPodFinished(*pod) && nodes.contains(pod->spec.node_name)) others.push_back(pod);
  std::string names;
  for (const UserPod& pod : others) names += (names.empty() ? "" : ", ") + pod->metadata.name;
  // Pods that use a claim are of its namespace.
  const std::string why =
      names.empty()
          ? "Volume is already exclusively attached to one node, waiting on detach before it can be "
            "attached to another node"
          : "Volume is already used by pod(s) " + names;
  for (const UserPod& pod : wanted.pods)
    round.ctx.recorder().Warning(
        *pod, "FailedAttachVolume",
        "Waiting for detach for volume \"" + wanted.volume->metadata.name + "\" " + why);
}

// A volume for one node at a time that another node has. That is said once.
bool AttachDetach::IsElsewhere(const WantedVolume& wanted, const std::string& unique, Round& round) {
  if (MayBeOnManyNodes(*wanted.volume)) return false;
  std::set<std::string> nodes;
  for (const auto& other :
       round.ctx.lister<VolumeAttachment>().ByIndex(kVolumeIndex, wanted.volume->metadata.name))
    if (other->spec.node_name != round.name) nodes.insert(other->spec.node_name);
  if (nodes.empty()) return false;
  {
    MutexLock lock(mu_);
    if (std::exchange(said_[{round.name, unique}], "elsewhere") == "elsewhere") return true;
  }
  SayElsewhere(wanted, nodes, round);
  return true;
}

Status AttachDetach::Attach(Round& round) {
  for (const auto& [unique, wanted] : round.wanted) {
    if (round.present.contains(unique) || IsElsewhere(wanted, unique, round)) continue;
    const CSIPersistentVolumeSource& source = *wanted.volume->spec.csi;
    VolumeAttachment attachment;
    attachment.metadata.name = CsiAttachmentName(source.driver, source.volume_handle, round.name);
    attachment.spec.attacher = source.driver;
    attachment.spec.node_name = round.name;
    attachment.spec.source.persistent_volume_name = wanted.volume->metadata.name;
    const auto made = round.ctx.client().Create(attachment);
    if (!made && !made.error().Is(Reason::kAlreadyExists)) return Unexpected(made.error());
    MutexLock lock(mu_);
    unwanted_.erase({round.name, unique});
    said_.erase({round.name, unique});
  }
  return {};
}

Status AttachDetach::WriteAttached(Round& round) {
  const auto by_name = [](const AttachedVolume& a, const AttachedVolume& b) { return a.name < b.name; };
  std::sort(round.attached.begin(), round.attached.end(), by_name);
  std::vector<AttachedVolume> known = round.node->status.volumes_attached;
  std::sort(known.begin(), known.end(), by_name);
  if (known == round.attached) return {};
  json::Array attached;
  for (const AttachedVolume& volume : round.attached) attached.push_back(ToJson(volume));
  const json::Value patch = json::Object{
      {"status",
       json::Object{{"volumesAttached", attached.empty() ? json::Value(nullptr) : json::Value(attached)}}}};
  const auto written = round.ctx.client().Of<Node>().Patch("", round.name, PatchType::kMerge, patch,
                                                           {.subresource = "status"});
  if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  return {};
}

Result<Action> AttachDetach::Reconcile(const ObjectKey& key, Context& ctx) {
  Round round{.ctx = ctx,
              .name = key.name,
              .node = ctx.lister<Node>().Get("", key.name),
              .wanted = WantedOn(key.name, ctx)};
  if (round.node && !round.node->metadata.annotations.contains(kManagedAnnotation)) return Done();
  for (const AttachmentPtr& attachment : ctx.lister<VolumeAttachment>().ByIndex(kNodeIndex, key.name))
    Look(attachment, round);
  if (round.node) FLYBALL_TRY(WriteAttached(round));
  FLYBALL_TRY(Detach(round));
  if (round.node) FLYBALL_TRY(Attach(round));
  return round.look_again ? RequeueAfter(*round.look_again) : Done();
}

std::vector<ObjectKey> NodeOf(const Pod& pod) {
  if (pod.spec.node_name.empty() || ClaimsOf(pod).empty()) return {};
  return {{"", pod.spec.node_name}};
}

// The nodes whose pods name the claim.
std::vector<ObjectKey> NodesOfClaim(const Lister<Pod>& pods, const std::string& ns, const std::string& name) {
  std::vector<ObjectKey> nodes;
  for (const UserPod& pod : PodsOfClaim(pods, {ns, name}))
    for (ObjectKey& node : NodeOf(*pod)) nodes.push_back(std::move(node));
  return nodes;
}

}  // namespace

Status AddAttachDetachController(Manager& manager, int workers) {
  FLYBALL_TRY(AddPodNodeIndex(manager.informers()));
  FLYBALL_TRY(AddPodClaimIndex(manager.informers()));
  const auto pods = manager.informers().For<Pod>().lister();
  const auto volumes = manager.informers().For<PersistentVolume>().lister();
  const auto of_volume = [pods](const PersistentVolume& volume) {
    const auto& claim = volume.spec.claim_ref;
    return claim ? NodesOfClaim(pods, claim->namespace_, claim->name) : std::vector<ObjectKey>();
  };
  const auto state = std::make_shared<AttachDetach>();
  return manager.For<Node>()
      .Named("persistentvolume-attach-detach-controller")
      .EventSource("attachdetach-controller")
      .Index<VolumeAttachment>(kNodeIndex,
                               [](const VolumeAttachment& attachment) {
                                 return std::vector<std::string>{attachment.spec.node_name};
                               })
      .Index<VolumeAttachment>(kVolumeIndex,
                               [](const VolumeAttachment& attachment) {
                                 return std::vector<std::string>{VolumeNameOf(attachment)};
                               })
      .Watches<Pod>(&NodeOf)
      .Watches<PersistentVolumeClaim>([pods](const PersistentVolumeClaim& claim) {
        return NodesOfClaim(pods, claim.metadata.namespace_, claim.metadata.name);
      })
      .Watches<PersistentVolume>(of_volume)
      // Other nodes may wait for the volume.
      .Watches<VolumeAttachment>([volumes, of_volume](const VolumeAttachment& attachment) {
        std::vector<ObjectKey> nodes;
        if (const auto volume = volumes.Get("", VolumeNameOf(attachment))) nodes = of_volume(*volume);
        nodes.push_back({"", attachment.spec.node_name});
        return nodes;
      })
      .Uses<CSIDriver>()
      .Workers(workers)
      .Reconcile([state](const ObjectKey& key, Context& ctx) { return state->Reconcile(key, ctx); });
}

}  // namespace flyball::controllers
