#include "store/log/keyspace.h"

#include <algorithm>

namespace flyball::store {

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

std::size_t Keyspace::Count(std::string_view prefix) const {
  const std::string end = PrefixEnd(prefix);
  return entries_.Count(prefix, end.empty() ? std::nullopt : std::optional<std::string_view>(end));
}

Keyspace::Slice Keyspace::Read(std::string_view prefix, std::string_view start, std::size_t limit) const {
  const std::string end = PrefixEnd(prefix);
  return entries_.Read(std::max(prefix, start),
                       end.empty() ? std::nullopt : std::optional<std::string_view>(end), limit);
}

}  // namespace flyball::store
