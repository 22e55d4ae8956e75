// Conntrack: the connections that the kernel follows (conntrack(8)). A flow of UDP has no end that the kernel
// sees, so what was once translated goes on to an endpoint that is gone until its entry is deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "api/values/ip_address.h"
#include "base/values/result.h"
#include "network/netlink/netlink_socket.h"

namespace flyball::network {

// One followed connection: where its first packet was sent to, and who answers.
struct TrackedFlow {
  api::IpAddress sent_to, answered_by;
  std::uint16_t sent_to_port = 0, answered_by_port = 0;
};

// Of the network namespace that the calling thread is in when it is opened. Thread-safe.
class Conntrack {
 public:
  static Result<std::unique_ptr<Conntrack>> Open();

  // Deletes the entries of UDP for which `gone` is true, of both families. Returns how many.
  Result<int> DeleteUdp(const std::function<bool(const TrackedFlow&)>& gone);

 private:
  explicit Conntrack(std::unique_ptr<NetlinkSocket> socket) : socket_(std::move(socket)) {}

  const std::unique_ptr<NetlinkSocket> socket_;
};

}  // namespace flyball::network
