// Zone: the names of one cluster, and the answers to questions about them (the DNS specification for
// Kubernetes, version 1.1.0).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/run/random.h"
#include "dns/packet/message.h"
#include "dns/zone/service_records.h"

namespace flyball::dns {

// What 10-1-2-3.NAMESPACE.pod.DOMAIN says (CoreDNS' words). kInsecure: every address, in namespaces that
// exist; the specification asks for it, and kubeadm sets it. kVerified: addresses that a pod of the namespace
// has.
enum class PodNames { kDisabled, kInsecure, kVerified };

// Of a cluster's domain: a Service, its namespace and an endpoint fit in front of it.
inline constexpr std::size_t kMaxDomainBytes = 120;

struct ZoneOptions {
  Name domain = *Name::FromText("cluster.local.");
  std::uint32_t ttl = 5;  // CoreDNS' default: what changes is seen soon
  PodNames pods = PodNames::kInsecure;
};

// Confined to whoever owns it. A lookup is a few hash lookups, whatever the size of the cluster; an answer
// costs what its records do.
class Zone {
 public:
  Zone(ZoneOptions options, Random& random);

  // Replaces what is known of the Service of that namespace and name; null: it is gone.
  void SetService(const std::string& ns, const std::string& name,
                  std::shared_ptr<const ServiceRecords> records);
  void SetNamespace(const std::string& ns, bool exists);
  // Counted: an address may pass from one pod to the next before the first is known to be gone.
  void AddPodAddress(const std::string& ns, const std::string& address_bytes);
  void RemovePodAddress(const std::string& ns, const std::string& address_bytes);
  // True from the call with true on: what is asked before cannot be answered (ServFail).
  void SetSynced(bool synced) { synced_ = synced; }
  bool synced() const { return synced_; }

  enum class Outcome {
    kNotOurs,  // another zone's name, or an address that nobody here has: ask elsewhere
    kAnswered,
    kAlias,  // a CNAME out of the zone was added; `alias` has its target, to be asked elsewhere
  };
  // Fills in the answer of a message whose question is set, and is of class IN: records, rcode,
  // authoritative.
  Outcome Answer(Message& reply, Name& alias) const;

  const Name& domain() const { return options_.domain; }
  std::size_t services() const { return services_.size(); }

 private:
  struct Found;
  using Labels = std::vector<std::string>;

  bool AnswerWithin(Message& reply, const Name& name, Name& alias) const;
  Found Find(const Labels& labels) const;
  Found FindAtApex(const Labels& labels) const;
  Found FindInService(const Labels& labels) const;
  Found FindPod(const Labels& labels) const;
  void AddFound(Message& reply, const Name& name, const Found& found) const;
  void AddAddresses(std::vector<Record>& to, const Name& owner, const AddressData& addresses,
                    std::uint16_t type) const;
  void AddSrv(Message& reply, const Name& owner, const ServiceRecords& service,
              const std::vector<ServiceRecords::Port>& ports) const;
  void AddSoa(std::vector<Record>& to) const;
  Outcome AnswerReverse(Message& reply, const std::string& address) const;
  Record MakeRecord(const Name& owner, std::uint16_t type, std::string data) const;
  Name NameOf(const ServiceRecords& service, std::size_t host) const;

  const ZoneOptions options_;
  Random& random_;
  const std::size_t domain_labels_;
  bool synced_ = false;
  std::uint32_t serial_ = 1;
  std::unordered_map<std::string, std::shared_ptr<const ServiceRecords>> services_;  // by "name.namespace"
  std::unordered_map<std::string, bool> namespaces_;
  std::unordered_map<std::string, int> pods_;  // by "namespace/bytes"
  // By address bytes: "name.namespace" and the host in it.
  std::unordered_map<std::string, std::vector<std::pair<std::string, std::size_t>>> reverse_;
};

// The address that a name below in-addr.arpa or ip6.arpa stands for, as 4 or 16 bytes; "" if it is no such
// name.
std::string ReverseAddress(const Name& name);

}  // namespace flyball::dns
