// VolumeWriter: writes what placing a pod means for its claims, one after the other: a volume is reserved for
// its claim, or the claim says on which node its volume is to be made (upstream: VolumeBinding.PreBind). The
// volume binder and the provisioner do the rest.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "client/client.h"
#include "scheduler/volumes/pod_volumes.h"

namespace flyball::scheduler {

// Owns itself while requests are under way. `done` is called once, on the client's thread: Conflict if an
// object has changed in the meantime, or the server's error.
class VolumeWriter : public std::enable_shared_from_this<VolumeWriter> {
 public:
  using Done = std::function<void(const Status&)>;

  static void Start(Client client, std::string node, std::vector<VolumeBinding> bindings, Done done);

 private:
  VolumeWriter(Client client, std::string node, std::vector<VolumeBinding> bindings, Done done)
      : client_(std::move(client)),
        node_(std::move(node)),
        bindings_(std::move(bindings)),
        done_(std::move(done)) {}

  void Next();

  const Client client_;
  const std::string node_;
  const std::vector<VolumeBinding> bindings_;
  const Done done_;
  std::size_t at_ = 0;
};

}  // namespace flyball::scheduler
