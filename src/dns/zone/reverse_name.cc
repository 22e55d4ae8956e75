#include <algorithm>

#include "base/values/ascii.h"
#include "dns/zone/zone.h"

namespace flyball::dns {
namespace {

constexpr std::size_t kV4Labels = 4, kV6Labels = 32;

// 0 to 255 without leading zeros; -1 if it is no such number.
int OctetOf(std::string_view label) {
  if (label.empty() || label.size() > 3 || (label.size() > 1 && label[0] == '0')) return -1;
  int value = 0;
  for (const char c : label) {
    if (!IsDigit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value > 255 ? -1 : value;
}

int NibbleOf(std::string_view label) {
  if (label.size() != 1) return -1;
  const char c = label[0];
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string V4Of(const std::vector<std::string_view>& labels) {
  std::string bytes;
  for (std::size_t i = kV4Labels; i-- > 0;) {
    const int octet = OctetOf(labels[i]);
    if (octet < 0) return {};
    bytes += static_cast<char>(octet);
  }
  return bytes;
}

std::string V6Of(const std::vector<std::string_view>& labels) {
  std::string bytes;
  for (std::size_t i = kV6Labels; i > 0; i -= 2) {
    const int high = NibbleOf(labels[i - 1]), low = NibbleOf(labels[i - 2]);
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace

std::string ReverseAddress(const Name& name) {
  const auto labels = name.Labels();
  if (labels.size() < 2 || !SameLetters(labels.back(), "arpa")) return {};
  const std::string_view tree = labels[labels.size() - 2];
  if (SameLetters(tree, "in-addr") && labels.size() == kV4Labels + 2) return V4Of(labels);
  if (SameLetters(tree, "ip6") && labels.size() == kV6Labels + 2) return V6Of(labels);
  return {};
}

}  // namespace flyball::dns
