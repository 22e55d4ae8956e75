// A request to a node's server, taken apart: /exec/<namespace>/<pod>/<container>?command=a&command=b.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http/http.h"

namespace flyball::node {

// A value. Path segments and parameters are decoded.
class NodeRequest {
 public:
  explicit NodeRequest(const net::Request& request);

  const std::vector<std::string>& path() const { return path_; }
  // Its first segment, or "".
  std::string_view what() const { return path_.empty() ? std::string_view() : path_[0]; }
  std::vector<std::string> All(std::string_view name) const;
  bool Is(std::string_view name) const;
  std::int64_t Number(std::string_view name, std::int64_t fallback) const;

 private:
  std::vector<std::string> path_;
  std::vector<std::pair<std::string, std::string>> values_;
};

// The elements of all header fields of that name, each a list by commas, in order.
std::vector<std::string> HeaderList(const net::Headers& headers, std::string_view name);

// The first of `offered` that is among `known`, or "".
std::string_view FirstKnown(const std::vector<std::string>& offered,
                            const std::vector<std::string_view>& known);

void SendText(net::ResponseStream& stream, int code, std::string text);

}  // namespace flyball::node
