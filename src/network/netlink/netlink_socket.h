// NetlinkSocket: asks the kernel and reads what it answers.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/values/ip_address.h"
#include "base/files/owned_fd.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "network/netlink/netlink_message.h"

namespace flyball::network {

// One message of an answer: valid during the call only.
struct NetlinkReply {
  std::uint16_t type = 0;
  std::string_view payload;

  template <typename Header>
  const Header* body() const {
    return payload.size() < sizeof(Header) ? nullptr : reinterpret_cast<const Header*>(payload.data());
  }
  // The attributes after a fixed part of that size.
  std::map<std::uint16_t, std::string_view> Attributes(std::size_t header_size) const;
};
std::map<std::uint16_t, std::string_view> ParseAttributes(std::string_view bytes);
// The address that an attribute holds: four bytes or sixteen. Nothing for any other number.
std::optional<api::IpAddress> AddressIn(std::string_view bytes);

// Belongs to the network namespace that the calling thread is in when it is opened. Thread-safe: one request
// at a time.
class NetlinkSocket {
 public:
  // `protocol`: NETLINK_ROUTE, or another family that speaks in the same messages (NETLINK_NETFILTER).
  static Result<std::unique_ptr<NetlinkSocket>> Open(int protocol = NETLINK_ROUTE);

  // Sends a request that changes something and waits for the kernel's word. NotFound (ENODEV, ENOENT, ESRCH,
  // EADDRNOTAVAIL), AlreadyExists (EEXIST) and other errors have the kernel's explanation.
  Status Do(const NetlinkMessage& message);
  // Sends a request with NLM_F_DUMP, or one that is answered by an object, and passes on each message.
  Status Ask(const NetlinkMessage& message, const std::function<void(const NetlinkReply&)>& each);

 private:
  explicit NetlinkSocket(OwnedFd fd) : fd_(std::move(fd)) {}
  Status Exchange(const NetlinkMessage& message, const std::function<void(const NetlinkReply&)>& each);

  Mutex mu_;
  const OwnedFd fd_;
  std::uint32_t sequence_ FLYBALL_GUARDED_BY(mu_) = 0;
};

}  // namespace flyball::network
