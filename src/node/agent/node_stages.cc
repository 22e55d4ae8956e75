// Pods, and the node itself, as their Stages say.
#include "node/agent/node_agent_core.h"

namespace flyball::node {
namespace {

// One address for each pod, as long as there is the pod; those that pods have already stay theirs. Confined
// to a strand.
class StageAddresses {
 public:
  explicit StageAddresses(ContainerRuntime& runtime) : runtime_(runtime) {}
  std::string Of(const std::string& uid) {
    std::string& address = by_uid_[uid];
    if (!address.empty()) return address;
    do address = runtime_.AllocatePodIp(uid);
    while (!used_.insert(address).second);
    return address;
  }
  void Note(const Unstructured& pod) {
    const std::string_view address = pod.value()["status"]["podIP"].string_or("");
    if (!address.empty() && used_.emplace(address).second) by_uid_[std::string(pod.uid())] = address;
  }
  void Forget(const std::string& uid) {
    const auto found = by_uid_.find(uid);
    if (found == by_uid_.end()) return;
    used_.erase(found->second);
    by_uid_.erase(found);
  }

 private:
  ContainerRuntime& runtime_;
  std::map<std::string, std::string> by_uid_;
  std::set<std::string> used_;
};

}  // namespace

std::shared_ptr<HandlerRegistration> NodeAgent::Core::PlayStages(const KindRef& kind,
                                                                 const std::string& field_selector) {
  using ObjectPtr = StagePlayer::ObjectPtr;
  const auto addresses = std::make_shared<StageAddresses>(runtime_);
  const auto player = std::make_shared<StagePlayer>(
      client_, strand_,
      StagePlayer::Options{
          .kind = kind,
          .stages = options_.stages,
          .node = {.name = options_.name,
                   .address = options_.address,
                   .port = description_.port,
                   .pod_ip = [addresses](const std::string& uid) { return addresses->Of(uid); }}});
  players_.push_back(player);
  const auto changed = [weak = weak_from_this(), player, addresses](const ObjectPtr& object) {
    if (const auto self = weak.lock())
      self->OnStrand([player, addresses, object](Core&) {
        addresses->Note(*object);
        player->Changed(object);
      });
  };
  const auto gone = [weak = weak_from_this(), player, addresses](const ObjectPtr& object) {
    if (const auto self = weak.lock())
      self->OnStrand([player, addresses, object](Core&) {
        player->Gone(object);
        addresses->Forget(std::string(object->uid()));
      });
  };
  EventHandler<Unstructured> handler;
  handler.on_add = [changed](const ObjectPtr& object, bool) { changed(object); };
  handler.on_update = [changed, gone](const ObjectPtr& before, const ObjectPtr& object) {
    if (before->uid() != object->uid()) gone(before);
    changed(object);
  };
  handler.on_delete = [gone](const ObjectPtr& object, bool) { gone(object); };
  return informers_->Dynamic(kind, {.field_selector = field_selector}).AddHandler(std::move(handler));
}

}  // namespace flyball::node
