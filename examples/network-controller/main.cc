// A custom resource that drives something outside the cluster: each Network becomes a Linux bridge with the
// gateway's address (as root), or a file that says so (otherwise). See README.md.
#include <flyball/sdk.h>

#include <array>
#include <memory>
#include <string>

#include "bridge.h"

using namespace flyball;  // NOLINT(google-build-using-namespace): the SDK is what this program is made of

struct NetworkSpec {
  std::string cidr, gateway;
  static constexpr auto kFields = Fields(
      Field{"cidr", &NetworkSpec::cidr, {.required = true, .description = "Address range, e.g. 10.1.0.0/16"}},
      Field{"gateway", &NetworkSpec::gateway, {.description = "Address of the bridge, e.g. 10.1.0.1"}});
  static constexpr std::array kShortNames = {"net"};
  static constexpr std::array kColumns = {Column{"CIDR", "string", ".spec.cidr"},
                                          Column{"Bridge", "string", ".status.bridge"}};
};
struct NetworkStatus {
  std::string bridge, phase;
  static constexpr auto kFields =
      Fields(Field{"bridge", &NetworkStatus::bridge}, Field{"phase", &NetworkStatus::phase});
};
using Network = CustomResource<NetworkSpec, "sample.k8s.io", "v1", "Network", NetworkStatus>;

// The world outside the cluster is not deleted with the object: we ask to be told first.
constexpr char kFinalizer[] = "sample.k8s.io/bridge";

Result<Action> Reconcile(const Network& network, Context& ctx, Bridges& bridges) {
  const std::string name = BridgeName(network.metadata.namespace_, network.metadata.name);
  if (IsDeleting(network.metadata)) {
    if (Status s = bridges.Remove(name); !s) return Unexpected(s.error());
    if (Status s = DropFinalizer(ctx.client(), network, kFinalizer); !s) return Unexpected(s.error());
    return Done();
  }
  if (!HasFinalizer(network.metadata, kFinalizer)) {
    // The write comes back as a change, and with it the next reconcile.
    if (Status s = EnsureFinalizer(ctx.client(), network, kFinalizer); !s) return Unexpected(s.error());
    return Done();
  }
  if (Status s = bridges.Ensure(name, network.spec.cidr, network.spec.gateway); !s) {
    ctx.recorder().Warning(network, "BridgeFailed", s.error().message());
    return Unexpected(s.error());
  }
  if (network.status.bridge != name || network.status.phase != "Ready") {
    Network updated = network;
    updated.status = {.bridge = name, .phase = "Ready"};
    if (auto written = ctx.client().UpdateStatus(updated); !written) return Unexpected(written.error());
    ctx.recorder().Normal(network, "BridgeReady", "bridge " + name + " is up");
  }
  // Somebody may remove the bridge behind our back: look again.
  return RequeueAfter(5min);
}

int main(int argc, char** argv) {
  const std::unique_ptr<Bridges> bridges = MakeBridges();
  return Main(argc, argv, [&bridges](Manager& manager) {
    return manager.For<Network>().Workers(2).Reconcile(
        [&bridges](const Network& network, Context& ctx) { return Reconcile(network, ctx, *bridges); });
  });
}
