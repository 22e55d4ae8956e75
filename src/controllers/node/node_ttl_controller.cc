#include "controllers/node/node_ttl_controller.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "api/types/core.h"
#include "controller/objects/owner.h"

namespace flyball::controllers {
namespace {

constexpr char kNodeTtl[] = "node.alpha.kubernetes.io/ttl";

// Clusters of up to `most` nodes use `seconds`. A cluster that shrinks keeps the longer time down to `least`
// nodes, so that it does not oscillate.
struct TtlStep {
  std::size_t least, most;
  int seconds;
};
constexpr std::array<TtlStep, 5> kSteps = {
    {{0, 100, 0}, {90, 500, 15}, {450, 1000, 30}, {900, 2000, 60}, {1800, SIZE_MAX, 300}}};

std::size_t StepFor(std::size_t nodes, std::size_t step) {
  while (step + 1 < kSteps.size() && nodes > kSteps[step].most) ++step;
  while (step > 0 && nodes < kSteps[step].least) --step;
  return step;
}

}  // namespace

Status AddNodeTtlController(Manager& manager, int workers) {
  const auto step = std::make_shared<std::atomic<std::size_t>>(0);
  const auto nodes = manager.informers().For<Node>().lister();
  const Predicates<Node> comes_or_goes{
      .create = nullptr, .update = [](const Node&, const Node&) { return false; }, .remove = nullptr};
  return manager.For<Node>()
      .Named("ttl-controller")
      .Watches<Node>(
          [nodes, step](const Node&) {
            std::vector<ObjectKey> keys;
            const std::size_t before = *step;
            *step = StepFor(nodes.size(), before);
            if (*step != before)
              for (const auto& node : nodes.List()) keys.push_back({"", node->metadata.name});
            return keys;
          },
          comes_or_goes)
      .Workers(workers)
      .Reconcile([step](const Node& node, Context& ctx) -> Result<Action> {
        const std::string wanted = std::to_string(kSteps[*step].seconds);
        const auto known = node.metadata.annotations.find(kNodeTtl);
        if (IsDeleting(node.metadata) ||
            (known != node.metadata.annotations.end() && known->second == wanted))
          return Done();
        const auto patched = ctx.client().Patch<Node>(
            "", node.metadata.name, PatchType::kMerge,
            json::Object{{"metadata", json::Object{{"annotations", json::Object{{kNodeTtl, wanted}}}}}});
        if (!patched && !patched.error().Is(Reason::kNotFound)) return Unexpected(patched.error());
        return Done();
      });
}

}  // namespace flyball::controllers
