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

constexpr std::string_view kTypes = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
constexpr std::string_view kWatchTypes =
    ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

bool IsJson(std::string_view type) {
  return type == "application/json" || type == "*/*";
}

bool IsKnownType(std::string_view type) {
  return IsJson(type) || type == "application/yaml" || type == "application/vnd.kubernetes.protobuf";
}

// Upstream's router refuses media types that no route has, before anybody looks at their parameters.
Error NotAcceptable(const std::vector<MediaRange>& ranges, bool watchable) {
  const bool routed = std::any_of(ranges.begin(), ranges.end(),
                                  [](const MediaRange& range) { return IsKnownType(range.type); });
  if (routed)
    return Error(Reason::kNotAcceptable, 406,
                 "only the following media types are accepted: " + std::string(kTypes));
  return Error(Reason::kNotAcceptable, 406,
               "406: Not Acceptable\n\nAvailable representations: " + std::string(kTypes) +
                   std::string(watchable ? kWatchTypes : ""),
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
  format.list = as == "PartialObjectMetadataList";
  return format;
}

Result<AnswerFormat> Negotiate(std::string_view accept, bool tables, bool messages, bool watchable) {
  const auto ranges = ParseAccept(accept);
  if (ranges.empty()) return AnswerFormat{};
  for (const auto& range : ranges) {
    const auto format = Fit(range, tables);
    if (!format) continue;
    if (format->protobuf && !messages && format->form == AnswerForm::kObject) continue;
    return *format;
  }
  return Unexpected(NotAcceptable(ranges, watchable));
}

}  // namespace

Result<AnswerFormat> NegotiateObject(std::string_view accept, bool tables, bool watchable) {
  return Negotiate(accept, tables, true, watchable);
}

Result<AnswerFormat> NegotiateText(std::string_view accept, bool tables) {
  return Negotiate(accept, tables, false, false);
}

Result<AnswerFormat> NegotiateDiscovery(std::string_view accept) {
  const auto ranges = ParseAccept(accept);
  if (ranges.empty()) return AnswerFormat{};
  for (const auto& range : ranges) {
    if (!IsKnownType(range.type)) continue;
    const bool protobuf = range.type == "application/vnd.kubernetes.protobuf",
               yaml = range.type == "application/yaml";
    if (range.Parameter("as").empty()) return AnswerFormat{.yaml = yaml, .protobuf = protobuf};
    if (protobuf || yaml) continue;
    if (range.Parameter("as") == "APIGroupDiscoveryList" && range.Parameter("g") == "apidiscovery.k8s.io" &&
        range.Parameter("v") == "v2")
      return AnswerFormat{.form = AnswerForm::kAggregatedDiscovery};
  }
  return Unexpected(NotAcceptable(ranges, false));
}

}  // namespace flyball::server
