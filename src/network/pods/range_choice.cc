#include "network/pods/range_choice.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "base/files/durable_file.h"
#include "base/files/owned_fd.h"
#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "json/json.h"
#include "network/netlink/netlink.h"
#include "network/pods/pod_network.h"

namespace flyball::network {
namespace {

namespace fs = std::filesystem;

// The data folders of all clusters with a network on this machine, one a line; also the lock.
constexpr char kClustersFolder[] = "/var/lib/flyball";
constexpr char kClustersFile[] = "/var/lib/flyball/networks";

Result<OwnedFd> LockClusters() {
  std::error_code error;
  fs::create_directories(kClustersFolder, error);
  OwnedFd lock(::open((std::string(kClustersFile) + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0)
    return Unexpected(InternalError(std::string(kClustersFile) + ".lock: " + std::strerror(errno)));
  return lock;
}

std::set<std::string> ReadFolders() {
  std::set<std::string> folders;
  const auto text = ReadFile(kClustersFile);
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) folders.insert(line);
  return folders;
}

Status WriteFolders(const std::set<std::string>& folders) {
  std::string text;
  for (const std::string& folder : folders) text += folder + "\n";
  return WriteFileDurably(kClustersFile, text);
}

std::string RangesPath(const std::string& data_dir) {
  return data_dir + "/network.json";
}

std::optional<ClusterRanges> ReadRanges(const std::string& data_dir) {
  const auto text = ReadFile(RangesPath(data_dir));
  if (!text) return std::nullopt;
  const auto read = json::Parse(*text);
  if (!read || !read->is_object()) return std::nullopt;
  const auto at = [&](const char* key) {
    const json::Value* value = read->Find(key);
    return value ? std::string(value->string_or("")) : std::string();
  };
  return ClusterRanges{NetworkName(data_dir), at("podCIDR"),       at("serviceCIDR"), at("nodeCIDR"),
                       at("podCIDRv6"),       at("serviceCIDRv6"), at("nodeCIDRv6")};
}

Status WriteRanges(const std::string& data_dir, const ClusterRanges& ranges) {
  json::Object value{
      {"podCIDR", ranges.pod_cidr}, {"serviceCIDR", ranges.service_cidr}, {"nodeCIDR", ranges.node_cidr}};
  for (const auto& [key, range] :
       {std::pair("podCIDRv6", &ranges.pod_cidr_v6), std::pair("serviceCIDRv6", &ranges.service_cidr_v6),
        std::pair("nodeCIDRv6", &ranges.node_cidr_v6)})
    if (!range->empty()) value.Set(key, *range);
  return WriteFileDurably(RangesPath(data_dir), json::Write(json::Value(std::move(value))) + "\n");
}

// What is taken on this machine, by others than the cluster of that name.
struct Taken {
  std::vector<api::Cidr> clusters, machine;

  void Add(const std::string& text) {
    if (const auto range = api::ParseCidr(text)) clusters.push_back(*range);
  }
  bool Has(const api::Cidr& range, bool broad_too) const {
    const auto overlaps = [&](const api::Cidr& other) { return Overlap(range, other); };
    if (std::any_of(clusters.begin(), clusters.end(), overlaps)) return true;
    return std::any_of(machine.begin(), machine.end(), [&](const api::Cidr& other) {
      return overlaps(other) && (broad_too || other.prefix >= range.prefix);
    });
  }
};

Status AddMachine(const std::string& name, Taken& taken) {
  FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
  FLYBALL_ASSIGN(const auto links, netlink->ListLinks());
  FLYBALL_ASSIGN(const auto addresses, netlink->ListAddresses());
  FLYBALL_ASSIGN(const auto routes, netlink->ListRoutes());
  const auto own = [&](int index) {
    return std::any_of(links.begin(), links.end(),
                       [&](const Link& link) { return link.index == index && link.name.starts_with(name); });
  };
  for (const LinkAddress& of : addresses)
    if (!own(of.link)) taken.machine.push_back(of.address);
  for (const Route& route : routes)
    if (route.destination.prefix > 0 && !own(route.link)) taken.machine.push_back(route.destination);
  return {};
}

enum class RangeOf { kPods, kServices, kNodes, kNodesV6 };

// What a flag says: a range of IPv4, and perhaps one of IPv6.
struct GivenRanges {
  std::string v4, v6;
};

Result<GivenRanges> ParseGiven(const char* flag, const std::string& text) {
  const std::vector<std::string> words = SplitWords(text, ",");
  const auto is = [&](std::size_t i, bool v4) {
    const auto range = i < words.size() ? api::ParseCidr(words[i]) : std::nullopt;
    return range && range->address.is_v4 == v4;
  };
  if (words.empty() || words.size() > 2 || !is(0, true) || (words.size() == 2 && !is(1, false)))
    return Unexpected(
        BadRequest(std::string(flag) + ": want a range of IPv4 addresses such as 10.244.0.0/16, " +
                   "and after a comma one of IPv6 if the cluster is to have both, got \"" + text + "\""));
  return GivenRanges{words[0], words.size() == 2 ? words[1] : std::string()};
}

std::vector<std::string> Candidates(RangeOf what) {
  std::vector<std::string> candidates;
  const auto add = [&](int from, int to) {
    for (int i = from; i <= to; ++i) candidates.push_back("10." + std::to_string(i) + ".0.0/16");
  };
  if (what == RangeOf::kPods) {
    add(244, 255);
    add(128, 243);
  } else if (what == RangeOf::kServices) {
    add(96, 127);
  } else {
    const bool v4 = what == RangeOf::kNodes;
    for (int i = 0; i <= 255; ++i)
      candidates.push_back(v4 ? "10.95." + std::to_string(i) + ".0/24"
                              : "fd00:10:95:" + std::to_string(i) + "::/64");
  }
  return candidates;
}

// A range that nobody has; where everything is below a broad route, as that of a private network which is
// reached by a tunnel, one of which nobody has a part: ours is the more specific one.
Result<std::string> Choose(RangeOf what, const Taken& taken) {
  for (const bool broad_too : {true, false})
    for (const std::string& candidate : Candidates(what))
      if (!taken.Has(*api::ParseCidr(candidate), broad_too)) return candidate;
  return Unexpected(Error(Reason::kServiceUnavailable,
                          "no range of addresses is free on this machine: choose one with --cluster-cidr "
                          "and --service-cluster-ip-range"));
}

// Drops the folders that are gone, with what their clusters have left.
void ForgetGone(std::set<std::string>& folders) {
  for (auto it = folders.begin(); it != folders.end();) {
    std::error_code error;
    if (fs::exists(*it, error) || error) {
      ++it;
      continue;
    }
    log::Info("removing the network of a cluster whose data folder is gone", {{"folder", *it}});
    RemoveNetworkOf(NetworkName(*it));
    it = folders.erase(it);
  }
}

}  // namespace

std::vector<std::string> ClusterRanges::PodCidrs() const {
  return has_v6() ? std::vector{pod_cidr, pod_cidr_v6} : std::vector{pod_cidr};
}

std::vector<std::string> ClusterRanges::ServiceCidrs() const {
  return service_cidr_v6.empty() ? std::vector{service_cidr} : std::vector{service_cidr, service_cidr_v6};
}

bool Overlap(const api::Cidr& a, const api::Cidr& b) {
  if (a.address.is_v4 != b.address.is_v4) return false;
  return a.Contains(b.Network()) || b.Contains(a.Network());
}

std::string NetworkName(const std::string& data_dir) {
  // FNV-1a: the same for ever.
  std::uint32_t hash = 2166136261u;
  for (const char c : data_dir) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name = "fb";
  for (int i = 0; i < 6; ++i, hash >>= 4) name += kDigits[hash & 15];
  return name;
}

Result<std::string> RegisterNetwork(const std::string& data_dir) {
  std::error_code error;
  const std::string folder = fs::canonical(data_dir, error).string();
  if (error) return Unexpected(InternalError(data_dir + ": " + error.message()));
  FLYBALL_ASSIGN(const OwnedFd lock, LockClusters());
  std::set<std::string> folders = ReadFolders();
  ForgetGone(folders);
  folders.insert(folder);
  FLYBALL_TRY(WriteFolders(folders));
  return NetworkName(folder);
}

Result<ClusterRanges> ReserveRanges(const std::string& data_dir, const std::string& pod_cidr,
                                    const std::string& service_cidr) {
  FLYBALL_ASSIGN(const GivenRanges pods, ParseGiven("--cluster-cidr", pod_cidr));
  FLYBALL_ASSIGN(const GivenRanges services, ParseGiven("--service-cluster-ip-range", service_cidr));
  if (pods.v6.empty() && !services.v6.empty())
    return Unexpected(
        BadRequest("--service-cluster-ip-range has IPv6: --cluster-cidr needs a range of it, too"));
  std::error_code error;
  const std::string folder = fs::canonical(data_dir, error).string();
  if (error) return Unexpected(InternalError(data_dir + ": " + error.message()));
  FLYBALL_ASSIGN(const OwnedFd lock, LockClusters());
  std::set<std::string> folders = ReadFolders();
  ForgetGone(folders);
  const auto before = ReadRanges(folder);
  ClusterRanges ranges = before.value_or(ClusterRanges{.name = NetworkName(folder)});
  Taken taken;
  for (const std::string& other : folders)
    if (const auto theirs = ReadRanges(other); theirs && other != folder)
      for (const std::string& text : {theirs->pod_cidr, theirs->service_cidr, theirs->node_cidr,
                                      theirs->pod_cidr_v6, theirs->service_cidr_v6, theirs->node_cidr_v6})
        taken.Add(text);
  FLYBALL_TRY(AddMachine(ranges.name, taken));
  if (pods.v4 != kDefaultPodCidr) ranges.pod_cidr = pods.v4;
  if (services.v4 != kDefaultServiceCidr) ranges.service_cidr = services.v4;
  ranges.pod_cidr_v6 = pods.v6;
  ranges.service_cidr_v6 = services.v6;
  if (!ranges.has_v6()) ranges.node_cidr_v6.clear();
  if (ranges.pod_cidr.empty()) {
    FLYBALL_ASSIGN(ranges.pod_cidr, Choose(RangeOf::kPods, taken));
  }
  if (ranges.service_cidr.empty()) {
    FLYBALL_ASSIGN(ranges.service_cidr, Choose(RangeOf::kServices, taken));
  }
  if (ranges.node_cidr.empty()) {
    FLYBALL_ASSIGN(ranges.node_cidr, Choose(RangeOf::kNodes, taken));
  }
  if (ranges.has_v6() && ranges.node_cidr_v6.empty()) {
    FLYBALL_ASSIGN(ranges.node_cidr_v6, Choose(RangeOf::kNodesV6, taken));
  }
  FLYBALL_TRY(WriteRanges(folder, ranges));
  folders.insert(folder);
  FLYBALL_TRY(WriteFolders(folders));
  return ranges;
}

}  // namespace flyball::network
