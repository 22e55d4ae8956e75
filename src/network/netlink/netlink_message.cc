#include "network/netlink/netlink_message.h"

#include <linux/rtnetlink.h>

#include <cstring>

namespace flyball::network {

NetlinkMessage::NetlinkMessage(std::uint16_t type, std::uint16_t flags)
    : type_(type), flags_(static_cast<std::uint16_t>(flags | NLM_F_REQUEST | NLM_F_ACK)) {}

NetlinkMessage& NetlinkMessage::Append(const void* data, std::size_t size) {
  data_.append(static_cast<const char*>(data), size);
  data_.resize(NLMSG_ALIGN(data_.size()));
  return *this;
}

NetlinkMessage& NetlinkMessage::Add(std::uint16_t attribute, std::string_view bytes) {
  const rtattr header{.rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes.size())),
                      .rta_type = attribute};
  Append(&header, sizeof(header));
  return Append(bytes.data(), bytes.size());
}

NetlinkMessage& NetlinkMessage::AddText(std::uint16_t attribute, const std::string& text) {
  return Add(attribute, std::string_view(text.c_str(), text.size() + 1));
}

std::size_t NetlinkMessage::BeginNested(std::uint16_t attribute) {
  const std::size_t begin = data_.size();
  Add(attribute, {});
  return begin;
}

void NetlinkMessage::EndNested(std::size_t begin) {
  const auto size = static_cast<unsigned short>(data_.size() - begin);
  std::memcpy(data_.data() + begin, &size, sizeof(size));  // rta_len
}

std::string NetlinkMessage::Encode(std::uint32_t sequence) const {
  const nlmsghdr header{.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(data_.size())),
                        .nlmsg_type = type_,
                        .nlmsg_flags = flags_,
                        .nlmsg_seq = sequence,
                        .nlmsg_pid = 0};
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + data_;
}

}  // namespace flyball::network
