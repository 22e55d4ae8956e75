#include <map>

#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"

namespace flyball::api {
namespace {

using json::Value;

struct UsedPort {
  std::string path, host_ip;
  std::int64_t host_port = 0;
};

// As Go shows the internal type.
std::string ShownPort(const Value& port) {
  return "{Name:" + std::string(Text(port, "name")) +
         " HostPort:" + std::to_string(Number(port, "hostPort")) +
         " ContainerPort:" + std::to_string(Number(port, "containerPort")) +
         " Protocol:" + std::string(Text(port, "protocol")) + " HostIP:" + std::string(Text(port, "hostIP")) +
         "}";
}

// What two definitions of one port and protocol are to each other; "" if they do no harm.
std::string_view Clash(const UsedPort& a, const UsedPort& b) {
  if (a.host_ip == b.host_ip && a.host_port == b.host_port) return "duplicate";
  if (a.host_port == 0 || b.host_port == 0) return "overlapping";
  if (a.host_port == b.host_port && a.host_ip.empty() != b.host_ip.empty()) return "dangerously ambiguous";
  return {};
}

}  // namespace

void WarnOfPorts(const Value& spec, const FieldPath& path, std::vector<std::string>& out) {
  std::map<std::string, std::vector<UsedPort>> used;  // by port and protocol
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& here) {
    const json::Array& ports = Items(container["ports"]);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const Value& port = ports[i];
      UsedPort own{here.Child("ports").Index(i).text(), std::string(Text(port, "hostIP")),
                   Number(port, "hostPort")};
      if (!own.host_ip.empty() && own.host_port == 0)
        out.push_back(own.path + ": hostIP set without hostPort: " + ShownPort(port));
      auto& others =
          used[std::to_string(Number(port, "containerPort")) + "/" + std::string(Text(port, "protocol"))];
      for (const UsedPort& other : others) {
        const std::string_view clash = Clash(own, other);
        if (!clash.empty())
          out.push_back(own.path + ": " + std::string(clash) + " port definition with " + other.path);
      }
      others.push_back(std::move(own));
    }
  });
}

}  // namespace flyball::api
