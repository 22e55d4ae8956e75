#include "server/request/negotiation.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flyball::server {
namespace {

struct MediaRange {
  std::string_view type;
  std::vector<std::pair<std::string_view, std::string_view>> parameters;

  double quality = 1;

  std::string_view Parameter(std::string_view name) const {
    for (const auto& [key, value] : parameters)
      if (key == name) return value;
    return {};
  }
};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

MediaRange ParseRange(std::string_view text) {
  MediaRange range;
  auto semicolon = text.find(';');
  range.type = Trim(text.substr(0, semicolon));
  while (semicolon != std::string_view::npos) {
    text.remove_prefix(semicolon + 1);
    semicolon = text.find(';');
    const auto pair = Trim(text.substr(0, semicolon));
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos)
      range.parameters.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  const auto quality = range.Parameter("q");
  if (!quality.empty()) std::from_chars(quality.data(), quality.data() + quality.size(), range.quality);
  return range;
}

// Ranges in the order the client prefers them: by quality, then as listed.
std::vector<MediaRange> ParseAccept(std::string_view accept) {
  std::vector<MediaRange> ranges;
  for (;;) {
    const auto comma = accept.find(',');
    if (const auto part = Trim(accept.substr(0, comma)); !part.empty()) ranges.push_back(ParseRange(part));
    if (comma == std::string_view::npos) break;
    accept.remove_prefix(comma + 1);
  }
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const MediaRange& a, const MediaRange& b) { return a.quality > b.quality; });
  return ranges;
}

bool IsJson(std::string_view type) {
  return type == "application/json" || type == "*/*" || type == "application/*";
}

Error NotAcceptable() {
  return Error(Reason::kNotAcceptable, 406,
               "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
               "application/vnd.kubernetes.protobuf",
               {.present = true});
}

std::optional<AnswerFormat> Fit(const MediaRange& range, bool tables) {
  AnswerFormat format;
  format.yaml = range.type == "application/yaml";
  format.protobuf = range.type == "application/vnd.kubernetes.protobuf";
  if (!format.yaml && !format.protobuf && !IsJson(range.type)) return std::nullopt;
  const auto as = range.Parameter("as");
  if (as.empty()) return format;
  if (range.Parameter("g") != "meta.k8s.io" || (as == "Table" && !tables)) return std::nullopt;
  const auto version = range.Parameter("v");
  if (version != "v1" && version != "v1beta1") return std::nullopt;
  if (version == "v1beta1") format.version = "v1beta1";
  if (as == "Table" && !format.protobuf) {  // a table has no message
    format.form = AnswerForm::kTable;
    return format;
  }
  if (as != "PartialObjectMetadata" && as != "PartialObjectMetadataList") return std::nullopt;
  format.form = AnswerForm::kPartialMetadata;
  return format;
}

Result<AnswerFormat> Negotiate(std::string_view accept, bool tables, bool messages) {
  const auto ranges = ParseAccept(accept);
  if (ranges.empty()) return AnswerFormat{};
  for (const auto& range : ranges) {
    const auto format = Fit(range, tables);
    if (!format) continue;
    if (format->protobuf && !messages && format->form == AnswerForm::kObject) continue;
    return *format;
  }
  return Unexpected(NotAcceptable());
}

}  // namespace

Result<AnswerFormat> NegotiateObject(std::string_view accept, bool tables) {
  return Negotiate(accept, tables, true);
}

Result<AnswerFormat> NegotiateText(std::string_view accept, bool tables) {
  return Negotiate(accept, tables, false);
}

Result<AnswerFormat> NegotiateDiscovery(std::string_view accept) {
  const auto ranges = ParseAccept(accept);
  if (ranges.empty()) return AnswerFormat{};
  for (const auto& range : ranges) {
    const bool protobuf = range.type == "application/vnd.kubernetes.protobuf";
    if (!protobuf && !IsJson(range.type)) continue;
    if (range.Parameter("as").empty()) return AnswerFormat{.protobuf = protobuf};
    if (protobuf) continue;
    const auto version = range.Parameter("v");
    if (range.Parameter("as") == "APIGroupDiscoveryList" && range.Parameter("g") == "apidiscovery.k8s.io" &&
        (version == "v2" || version == "v2beta1"))
      return AnswerFormat{.form = AnswerForm::kAggregatedDiscovery, .version = version};
  }
  return Unexpected(NotAcceptable());
}

}  // namespace flyball::server
