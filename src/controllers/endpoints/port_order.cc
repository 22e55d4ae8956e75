#include "controllers/endpoints/port_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/values/md5.h"

namespace flyball::controllers {
namespace {

// Formats a pointer as Go's deep printer does: its type if it is null, else what it points to.
template <typename T>
std::string PointerText(const std::string& type, const std::optional<T>& value) {
  if (!value) return "(*" + type + ")<nil>";
  if constexpr (std::is_integral_v<T>)
    return "(*" + type + ")" + std::to_string(*value);
  else
    return "(*" + type + ")" + *value;
}

std::string PrintedPort(const EndpointPort& port) {
  return "(v1.EndpointPort){Name:(string)" + port.name + " Port:(int32)" + std::to_string(port.port) +
         " Protocol:(v1.Protocol)" + port.protocol +
         " AppProtocol:" + PointerText("string", port.app_protocol) + "}";
}

std::string PrintedPort(const EndpointSlicePort& port) {
  return "(v1.EndpointPort){Name:" + PointerText("string", port.name) +
         " Protocol:" + PointerText("v1.Protocol", port.protocol) +
         " Port:" + PointerText("int32", port.port) +
         " AppProtocol:" + PointerText("string", port.app_protocol) + "}";
}

template <typename Port>
void SortByDigest(std::vector<Port>& ports) {
  std::multimap<Md5Digest, Port> sorted;
  for (Port& port : ports) {
    const Md5Digest digest = Md5(PrintedPort(port));
    sorted.emplace(digest, std::move(port));
  }
  ports.clear();
  for (auto& [digest, port] : sorted) ports.push_back(std::move(port));
}

}  // namespace

void SortPorts(std::vector<EndpointPort>& ports) {
  SortByDigest(ports);
}
void SortPorts(std::vector<EndpointSlicePort>& ports) {
  SortByDigest(ports);
}

}  // namespace flyball::controllers
