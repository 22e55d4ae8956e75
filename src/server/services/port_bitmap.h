// PortBitmap: the numbers of a range that are in use, in the form kube-apiserver stores them (upstream:
// RangeAllocation with a big integer's bytes, the highest first). A value; thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::server {

struct PortRange {
  int first = 0, last = 0;

  int size() const { return last - first + 1; }
  bool Contains(int port) const { return port >= first && port <= last; }
  std::string ToString() const;  // "30000-32767"
  bool operator==(const PortRange&) const = default;
};
// BadRequest names --service-node-port-range.
Result<PortRange> ParsePortRange(std::string_view text);

class PortBitmap {
 public:
  explicit PortBitmap(PortRange range) : range_(range), used_(static_cast<std::size_t>(range.size())) {}
  // Of the stored bytes. Bits beyond the range are ignored.
  static PortBitmap FromBytes(PortRange range, std::string_view bytes);

  const PortRange& range() const { return range_; }
  bool Has(int port) const { return range_.Contains(port) && used_[Index(port)]; }
  // False if it is in use already. Requires a port of the range.
  bool Take(int port);
  // Nothing happens to ports outside of the range.
  void Release(int port);
  int used_count() const;
  std::string ToBytes() const;
  bool operator==(const PortBitmap&) const = default;

 private:
  std::size_t Index(int port) const { return static_cast<std::size_t>(port - range_.first); }
  PortRange range_;
  std::vector<bool> used_;
};

}  // namespace flyball::server
