// The smallest controller, as docs/controllers.md begins with it.
#include <flyball/sdk.h>
using namespace flyball;

struct NetworkSpec {  // the custom resource: a plain struct and its field list
  std::string cidr, gateway;
  static constexpr auto kFields =
      Fields(Field{"cidr", &NetworkSpec::cidr}, Field{"gateway", &NetworkSpec::gateway});
};
using Network = CustomResource<NetworkSpec, "sample.k8s.io", "v1", "Network">;

// Makes one ConfigMap match one Network. Runs whenever either of them changes.
Result<Action> Reconcile(const Network& network, Context& ctx) {
  ConfigMap want{.metadata = ChildOf(network), .data = {{"cidr", network.spec.cidr}}};
  if (auto applied = ctx.client().Apply(want, {.field_manager = "network"}); !applied)
    return Unexpected(applied.error());  // retried with back-off; Terminal(e) would stop
  return RequeueAfter(5min);
}

int main(int argc, char** argv) {  // flags, kubeconfig or in-cluster, signals, leader lease
  return Main(argc, argv, [](Manager& manager) {
    return manager.For<Network>().Owns<ConfigMap>().Workers(2).Reconcile(&Reconcile);
  });
}
