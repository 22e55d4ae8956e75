#include "network/netlink/netlink_socket.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace flyball::network {
namespace {

constexpr std::size_t kReceiveSize = 64 * 1024;  // the kernel fills at most 32 KiB at once

std::string ExplanationOf(const nlmsghdr& header) {
  const auto* error = static_cast<const nlmsgerr*>(NLMSG_DATA(&header));
  std::string text = std::strerror(-error->error);
  if (!(header.nlmsg_flags & NLM_F_ACK_TLVS)) return text;
  // After the error comes the request, whole unless it is capped, and then what the kernel says about it.
  std::size_t at = sizeof(nlmsgerr);
  if (!(header.nlmsg_flags & NLM_F_CAPPED)) at += NLMSG_ALIGN(error->msg.nlmsg_len) - sizeof(nlmsghdr);
  const std::string_view payload(reinterpret_cast<const char*>(error), header.nlmsg_len - NLMSG_HDRLEN);
  if (at >= payload.size()) return text;
  const auto attributes = ParseAttributes(payload.substr(at));
  const auto found = attributes.find(NLMSGERR_ATTR_MSG);
  return found == attributes.end() ? text : text + ": " + std::string(found->second.data());
}

Error KernelError(const nlmsghdr& header) {
  const int code = -static_cast<const nlmsgerr*>(NLMSG_DATA(&header))->error;
  const std::string text = "netlink: " + ExplanationOf(header);
  switch (code) {
    case ENODEV:
    case ENOENT:
    case ESRCH:
    case EADDRNOTAVAIL:
      return Error(Reason::kNotFound, text);
    case EEXIST:
      return Error(Reason::kAlreadyExists, text);
    case EPERM:
      return Error(Reason::kForbidden, text);
    default:
      return InternalError(text);
  }
}

Error SocketError(const char* what) {
  return InternalError(std::string("netlink: ") + what + ": " + std::strerror(errno));
}

}  // namespace

std::map<std::uint16_t, std::string_view> ParseAttributes(std::string_view bytes) {
  std::map<std::uint16_t, std::string_view> attributes;
  while (bytes.size() >= sizeof(rtattr)) {
    rtattr header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.rta_len < sizeof(header) || header.rta_len > bytes.size()) break;
    attributes[header.rta_type & NLA_TYPE_MASK] = bytes.substr(RTA_LENGTH(0), header.rta_len - RTA_LENGTH(0));
    bytes.remove_prefix(std::min<std::size_t>(RTA_ALIGN(header.rta_len), bytes.size()));
  }
  return attributes;
}

std::optional<api::IpAddress> AddressIn(std::string_view bytes) {
  api::IpAddress address;
  if (bytes.size() == 4) {
    address.is_v4 = true;
    address.bytes[10] = address.bytes[11] = 0xff;
    std::memcpy(address.bytes.data() + 12, bytes.data(), 4);
  } else if (bytes.size() == 16) {
    std::memcpy(address.bytes.data(), bytes.data(), 16);
  } else {
    return std::nullopt;
  }
  return address;
}

std::map<std::uint16_t, std::string_view> NetlinkReply::Attributes(std::size_t header_size) const {
  const std::size_t at = NLMSG_ALIGN(header_size);
  return payload.size() <= at ? std::map<std::uint16_t, std::string_view>()
                              : ParseAttributes(payload.substr(at));
}

Result<std::unique_ptr<NetlinkSocket>> NetlinkSocket::Open(int protocol) {
  OwnedFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!fd) return Unexpected(SocketError("socket"));
  const int on = 1;
  // Explanations are a help; without them there is the error's number.
  ::setsockopt(fd.get(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
  return std::unique_ptr<NetlinkSocket>(new NetlinkSocket(std::move(fd)));
}

Status NetlinkSocket::Do(const NetlinkMessage& message) {
  return Exchange(message, nullptr);
}

Status NetlinkSocket::Ask(const NetlinkMessage& message,
                          const std::function<void(const NetlinkReply&)>& each) {
  return Exchange(message, each);
}

Status NetlinkSocket::Exchange(const NetlinkMessage& message,
                               const std::function<void(const NetlinkReply&)>& each) {
  MutexLock lock(mu_);
  const std::uint32_t sequence = ++sequence_;
  const std::string request = message.Encode(sequence);
  if (::send(fd_.get(), request.data(), request.size(), 0) < 0) return Unexpected(SocketError("send"));
  std::vector<char> buffer(kReceiveSize);
  for (;;) {
    const ssize_t received = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return Unexpected(SocketError("receive"));
    auto left = static_cast<std::size_t>(received);
    for (auto* header = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_seq != sequence) continue;
      if (header->nlmsg_type == NLMSG_DONE) return {};
      if (header->nlmsg_type == NLMSG_ERROR) {
        if (static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error == 0) return {};
        return Unexpected(KernelError(*header));
      }
      if (each)
        each({header->nlmsg_type, std::string_view(static_cast<const char*>(NLMSG_DATA(header)),
                                                   header->nlmsg_len - NLMSG_HDRLEN)});
    }
  }
}

}  // namespace flyball::network
