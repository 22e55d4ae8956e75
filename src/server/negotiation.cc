#include "server/negotiation.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace flyball::server {
namespace {

struct MediaRange {
  std::string_view type;
  std::vector<std::pair<std::string_view, std::string_view>> parameters;

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
  return range;
}

// Ranges in the order the client prefers them; quality values are rare and Kubernetes' clients send none.
std::vector<MediaRange> ParseAccept(std::string_view accept) {
  std::vector<MediaRange> ranges;
  while (true) {
    const auto comma = accept.find(',');
    if (const auto part = Trim(accept.substr(0, comma)); !part.empty()) ranges.push_back(ParseRange(part));
    if (comma == std::string_view::npos) return ranges;
    accept.remove_prefix(comma + 1);
  }
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
  const bool yaml = range.type == "application/yaml";
  if (!yaml && !IsJson(range.type)) return std::nullopt;
  const auto as = range.Parameter("as");
  if (as.empty()) return AnswerFormat{AnswerForm::kObject, yaml};
  if (!tables || range.Parameter("g") != "meta.k8s.io") return std::nullopt;
  const auto version = range.Parameter("v");
  if (version != "v1" && version != "v1beta1") return std::nullopt;
  if (as == "Table") return AnswerFormat{AnswerForm::kTable, yaml, version};
  if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList")
    return AnswerFormat{AnswerForm::kPartialMetadata, yaml, version};
  return std::nullopt;
}

}  // namespace

Result<AnswerFormat> NegotiateObject(std::string_view accept, bool tables) {
  const auto ranges = ParseAccept(accept);
  if (ranges.empty()) return AnswerFormat{};
  for (const auto& range : ranges)
    if (auto format = Fit(range, tables)) return *format;
  return Unexpected(NotAcceptable());
}

Result<AnswerFormat> NegotiateDiscovery(std::string_view accept) {
  const auto ranges = ParseAccept(accept);
  if (ranges.empty()) return AnswerFormat{};
  for (const auto& range : ranges) {
    if (!IsJson(range.type)) continue;
    if (range.Parameter("as").empty()) return AnswerFormat{};
    const auto version = range.Parameter("v");
    if (range.Parameter("as") == "APIGroupDiscoveryList" && range.Parameter("g") == "apidiscovery.k8s.io" &&
        (version == "v2" || version == "v2beta1"))
      return AnswerFormat{AnswerForm::kAggregatedDiscovery, false, version};
  }
  return Unexpected(NotAcceptable());
}

}  // namespace flyball::server
