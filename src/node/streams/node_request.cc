#include "node/streams/node_request.h"

#include <algorithm>
#include <charconv>

namespace flyball::node {
namespace {

std::string Decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ec == std::errc()) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(by), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

NodeRequest::NodeRequest(const net::Request& request) {
  const std::string_view target = request.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  for (const auto part : Split(target.substr(0, mark), '/')) path_.push_back(Decode(part));
  if (mark == target.size()) return;
  for (const auto part : Split(target.substr(mark + 1), '&')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    values_.emplace_back(Decode(part.substr(0, equals)),
                         equals < part.size() ? Decode(part.substr(equals + 1)) : "");
  }
}

std::vector<std::string> NodeRequest::All(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& [key, value] : values_)
    if (key == name) all.push_back(value);
  return all;
}

bool NodeRequest::Is(std::string_view name) const {
  const auto all = All(name);
  return !all.empty() && (all[0] == "true" || all[0] == "1");
}

std::int64_t NodeRequest::Number(std::string_view name, std::int64_t fallback) const {
  const auto all = All(name);
  std::int64_t number = fallback;
  if (!all.empty()) std::from_chars(all[0].data(), all[0].data() + all[0].size(), number);
  return number;
}

std::vector<std::string> HeaderList(const net::Headers& headers, std::string_view name) {
  std::vector<std::string> list;
  for (const auto value : headers.GetAll(name))
    for (const auto part : Split(value, ',')) list.emplace_back(Trimmed(part));
  return list;
}

std::string_view FirstKnown(const std::vector<std::string>& offered,
                            const std::vector<std::string_view>& known) {
  for (const std::string& one : offered)
    if (const auto found = std::find(known.begin(), known.end(), one); found != known.end()) return *found;
  return {};
}

void SendText(net::ResponseStream& stream, int code, std::string text) {
  stream.Send(code, {{"content-type", "text/plain; charset=utf-8"}}, std::move(text));
}

}  // namespace flyball::node
