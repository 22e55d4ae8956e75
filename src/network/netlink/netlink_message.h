// NetlinkMessage: a request to the kernel's rtnetlink, put together attribute by attribute (rtnetlink(7)).
//
// By hand and not with libmnl: this and netlink_socket.cc are all of it that is needed, and a library would
// be one more package to install for every program of ours.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace flyball::network {

// Thread-compatible.
class NetlinkMessage {
 public:
  // `type`: RTM_...; `flags`: NLM_F_... besides NLM_F_REQUEST and NLM_F_ACK.
  NetlinkMessage(std::uint16_t type, std::uint16_t flags);

  // The fixed part, which comes before all attributes: ifinfomsg, ifaddrmsg, rtmsg ...
  template <typename Header>
  NetlinkMessage& Body(const Header& header) {
    return Append(&header, sizeof(header));
  }
  NetlinkMessage& Add(std::uint16_t attribute, std::string_view bytes);
  NetlinkMessage& AddText(std::uint16_t attribute, const std::string& text);  // with its final zero
  template <typename Number>
  NetlinkMessage& AddNumber(std::uint16_t attribute, Number number) {
    return Add(attribute, std::string_view(reinterpret_cast<const char*>(&number), sizeof(number)));
  }
  // Everything added between the two is in this attribute.
  std::size_t BeginNested(std::uint16_t attribute);
  void EndNested(std::size_t begin);

  std::uint16_t flags() const { return flags_; }
  // Complete, with its length and the sequence number.
  std::string Encode(std::uint32_t sequence) const;

 private:
  NetlinkMessage& Append(const void* data, std::size_t size);

  const std::uint16_t type_, flags_;
  std::string data_;  // after the header
};

}  // namespace flyball::network
