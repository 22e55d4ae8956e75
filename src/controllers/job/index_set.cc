#include "controllers/job/index_set.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace flyball::controllers {
namespace {

std::optional<int> ParseNumber(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

IndexSet ParseIndexes(std::string_view text, int limit) {
  IndexSet indexes;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t dash = part.find('-');
    const auto first = ParseNumber(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseNumber(part.substr(dash + 1));
    if (!first || !last) continue;
    for (int i = *first; i <= *last && i < limit; ++i) indexes.insert(i);
  }
  return indexes;
}

std::string FormatIndexes(const IndexSet& indexes) {
  std::string out;
  for (auto it = indexes.begin(); it != indexes.end();) {
    const int first = *it;
    int last = first;
    while (++it != indexes.end() && *it == last + 1) last = *it;
    out += (out.empty() ? "" : ",") + std::to_string(first);
    if (last > first) out += (last - first > 1 ? "-" : ",") + std::to_string(last);
  }
  return out;
}

}  // namespace flyball::controllers
