#include "controllers/nodeipam/node_ipam_controller.h"

#include <map>
#include <memory>

#include "api/types/core.h"
#include "api/values/ip_address.h"
#include "controller/objects/owner.h"
#include "controllers/nodeipam/cidr_set.h"

namespace flyball::controllers {
namespace {

// Confined to the controller's only worker.
class NodeIpam {
 public:
  explicit NodeIpam(const NodeIpamOptions& options) : options_(options) {
    for (const std::string& text : options.cluster_cidrs) {
      const api::Cidr range = *api::ParseCidr(text);
      sets_.emplace_back(range, range.address.is_v4 ? options.mask_size_v4 : options.mask_size_v6);
    }
  }

  Result<Action> Reconcile(const Node& node, Context& ctx) {
    if (IsDeleting(node.metadata) || !node.spec.pod_cidrs.empty()) return Done();
    // Given already, and the cache does not know yet.
    if (const auto known = given_.find(node.metadata.uid); known != given_.end())
      return Assign(node, known->second, ctx);
    OccupyKnown(ctx);
    std::vector<std::string> ranges;
    for (CidrSet& set : sets_) {
      auto next = set.Next();
      if (!next) {
        ctx.recorder().Normal(node, "CIDRNotAvailable",
                              "Node " + node.metadata.name + " status is now: CIDRNotAvailable");
        return Unexpected(Error(Reason::kServiceUnavailable,
                                "CIDR allocation failed; there are no remaining CIDRs left to allocate in "
                                "the accepted range"));
      }
      ranges.push_back(std::move(*next));
    }
    given_[node.metadata.uid] = ranges;
    return Assign(node, ranges, ctx);
  }

 private:
  // What nodes have, what they are about to have, and what is for Services.
  void OccupyKnown(Context& ctx) {
    for (CidrSet& set : sets_) set.ReleaseAll();
    const auto occupy = [&](const std::string& text) {
      const auto range = api::ParseCidr(text);
      for (CidrSet& set : sets_)
        if (range) set.Occupy(*range);
    };
    for (const std::string& range : options_.service_cidrs) occupy(range);
    std::map<std::string, std::vector<std::string>> still;
    for (const auto& node : ctx.lister<Node>().List()) {
      for (const std::string& range : node->spec.pod_cidrs) occupy(range);
      const auto given = given_.find(node->metadata.uid);
      if (given != given_.end() && node->spec.pod_cidrs.empty()) still.insert(*given);
    }
    given_ = std::move(still);
    for (const auto& [uid, ranges] : given_)
      for (const std::string& range : ranges) occupy(range);
  }

  Result<Action> Assign(const Node& node, const std::vector<std::string>& ranges, Context& ctx) {
    json::Array listed(ranges.begin(), ranges.end());
    const auto patched = ctx.client().Patch<Node>(
        "", node.metadata.name, PatchType::kStrategicMerge,
        json::Object{{"metadata", json::Object{{"uid", node.metadata.uid}}},
                     {"spec", json::Object{{"podCIDR", ranges.front()}, {"podCIDRs", std::move(listed)}}}});
    if (patched || patched.error().Is(Reason::kNotFound)) return Done();
    if (patched.error().Is(Reason::kInvalid)) {
      ctx.recorder().Normal(node, "CIDRAssignmentFailed",
                            "Node " + node.metadata.name + " status is now: CIDRAssignmentFailed");
      given_.erase(node.metadata.uid);
    }
    return Unexpected(patched.error());
  }

  const NodeIpamOptions options_;
  std::vector<CidrSet> sets_;
  std::map<std::string, std::vector<std::string>> given_;  // by UID
};

}  // namespace

Status ValidateNodeIpam(const NodeIpamOptions& options) {
  if (!options.allocate) return {};
  if (options.cluster_cidrs.empty())
    return Unexpected(BadRequest("--cluster-cidr must be specified if --allocate-node-cidrs is set"));
  bool v4 = false, v6 = false;
  for (const std::string& text : options.cluster_cidrs) {
    const auto range = api::ParseCidr(text);
    if (!range) return Unexpected(BadRequest("--cluster-cidr: invalid CIDR address: " + text));
    bool& seen = range->address.is_v4 ? v4 : v6;
    if (std::exchange(seen, true))
      return Unexpected(BadRequest("--cluster-cidr: at most one range of each IP family"));
    if (range->prefix > (range->address.is_v4 ? options.mask_size_v4 : options.mask_size_v6))
      return Unexpected(
          BadRequest("Invalid --cluster-cidr, mask size of cluster CIDR must be less than or equal to "
                     "--node-cidr-mask-size configured for CIDR family"));
  }
  return {};
}

Status AddNodeIpamController(Manager& manager, const NodeIpamOptions& options) {
  if (!options.allocate) return {};
  FLYBALL_TRY(ValidateNodeIpam(options));
  const auto ipam = std::make_shared<NodeIpam>(options);
  return manager.For<Node>()
      .Named("node-ipam-controller")
      .EventSource("cidrAllocator")
      .Workers(1)
      .Reconcile([ipam](const Node& node, Context& ctx) { return ipam->Reconcile(node, ctx); });
}

}  // namespace flyball::controllers
