#include "scheduler/volumes/volume_writer.h"

#include <utility>

namespace flyball::scheduler {
namespace {

// A claim that somebody reserved the volume for by hand stays as it was written.
json::Value Reserved(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  PersistentVolume next = volume;
  if (!IsMeantFor(volume, claim)) next.metadata.annotations[kBoundByController] = "yes";
  next.spec.claim_ref = ObjectReference{.kind = "PersistentVolumeClaim",
                                        .namespace_ = claim.metadata.namespace_,
                                        .name = claim.metadata.name,
                                        .uid = claim.metadata.uid,
                                        .api_version = "v1",
                                        .resource_version = claim.metadata.resource_version};
  return ToJson(next);
}

json::Value ToBeMade(const PersistentVolumeClaim& claim, const std::string& node) {
  PersistentVolumeClaim next = claim;
  next.metadata.annotations[kSelectedNode] = node;
  return ToJson(next);
}

}  // namespace

void VolumeWriter::Start(Client client, std::string node, std::vector<VolumeBinding> bindings, Done done) {
  std::shared_ptr<VolumeWriter> writer(
      new VolumeWriter(std::move(client), std::move(node), std::move(bindings), std::move(done)));
  writer->Next();
}

void VolumeWriter::Next() {
  if (at_ == bindings_.size()) return done_({});
  const VolumeBinding& binding = bindings_[at_++];
  const auto then = [self = shared_from_this()](const Result<json::Value>& result) {
    if (!result) return self->done_(Unexpected(result.error()));
    self->Next();
  };
  if (binding.volume)
    client_.Of<PersistentVolume>().UpdateAsync(Reserved(*binding.volume, *binding.claim), {}, then);
  else
    client_.Of<PersistentVolumeClaim>().UpdateAsync(ToBeMade(*binding.claim, node_), {}, then);
}

}  // namespace flyball::scheduler
