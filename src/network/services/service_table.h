// ServiceTable: all Services of one IP family, as one table of nftables. It takes the rules of one Service at
// a time and renders the difference to what it rendered before as one transaction, whose size is that of the
// change. Maps lead from a place (address, protocol and port) to a chain by verdict; the chain chooses a slot
// at random and looks the target up in a second map. So chains are few, and shared, and a change of an
// endpoint is a change of two elements.
//
// A place belongs to one Service. If several claim it (an external IP, say), the first by name has it; when
// that one goes, the next takes it over.
//
// Thread-compatible. It only makes text: who applies it says by Committed or StartOver how that went.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "network/services/service_rules.h"
#include "network/services/tracked_map.h"

namespace flyball::network {

class ServiceTable {
 public:
  explicit ServiceTable(ServiceTableOptions options);

  const ServiceTableOptions& options() const { return options_; }
  // The rules of a Service ("ns/name"), replacing those it had; empty rules remove it.
  void Update(const std::string& service, ServiceRules rules);
  // Empty if the Service is not known.
  const ServiceRules& RulesOf(const std::string& service) const;
  void SetNodePortAddresses(const std::vector<api::IpAddress>& addresses);
  // Whatever is addressed there and is no Service is dropped (upstream: ServiceCIDR objects).
  void SetServiceNetworks(const std::vector<api::Cidr>& networks);

  // The commands that lead from what was rendered last to what is now; "" if nothing differs.
  std::string RenderChanges();
  // The commands that make the table from scratch. `present` is what `list table` printed of it, or "" if
  // there is none. Chains and maps are replaced; what sets know of clients (session affinity) is kept where
  // it still applies. If the kernel refuses that, `RenderReplacement` with "" works and forgets it.
  std::string RenderReplacement(const std::string& present);
  std::string RenderRemoval() const;

  // Chains that were emptied by RenderChanges, to be deleted later: kernels before 6.2 take a moment to
  // notice that a chain is unused. "" if there are none. Calling it means that they are.
  std::string RenderStaleChains();
  bool has_stale_chains() const { return !stale_chains_.empty(); }

  std::size_t services() const { return services_.size(); }
  // Services whose Local policy drops what comes from inside (outside) because no endpoint is on this node.
  int dropped_internal() const { return dropped_internal_; }
  int dropped_external() const { return dropped_external_; }

 private:
  struct Text;
  void Claim(const Place& place, const std::string& service);
  void Unclaim(const Place& place, const std::string& service);
  void Settle(const Place& place);
  void UseSharedChains(const Place& place, const Frontend& frontend);
  template <typename Key>
  void Count(TrackedMap<Key, int>& present, std::map<Key, int>& counts, const Key& key, int difference);
  void RenderObjects(Text& text);
  void RenderFrontends(Text& text);
  void RenderSets(Text& text);
  std::string RenderBase() const;

  const ServiceTableOptions options_;
  std::unordered_map<std::string, ServiceRules> services_;
  std::map<Place, std::vector<std::string>> claims_;  // sorted by name; the first has the place

  TrackedMap<Place, Frontend> frontends_;
  TrackedMap<std::array<std::uint8_t, 16>, int> cluster_ips_;
  TrackedMap<Hairpin, int> hairpins_;
  std::map<std::array<std::uint8_t, 16>, int> cluster_ip_counts_;
  std::map<Hairpin, int> hairpin_counts_;
  TrackedMap<std::string, std::string> chains_;
  TrackedMap<std::string, std::int32_t> affinities_;
  TrackedMap<std::string, std::string> networks_;  // sets that are replaced as a whole: name, elements
  std::vector<std::string> stale_chains_;
  int dropped_internal_ = 0, dropped_external_ = 0;
};

}  // namespace flyball::network
