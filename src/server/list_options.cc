#include "server/list_options.h"

#include <charconv>

#include "api/field_error.h"
#include "json/json.h"
#include "net/pki.h"

namespace flyball::server {
namespace {

Result<std::int64_t> ParseInt(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec == std::errc::result_out_of_range)
    return Unexpected(
        BadRequest("strconv.ParseInt: parsing \"" + std::string(text) + "\": value out of range"));
  if (ec != std::errc() || end != text.data() + text.size())
    return Unexpected(BadRequest("strconv.ParseInt: parsing \"" + std::string(text) + "\": invalid syntax"));
  return value;
}

Result<store::Revision> ParseVersion(std::string_view text, bool watch) {
  store::Revision value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  const std::string why = "resourceVersion: Invalid value: \"" + std::string(text) +
                          "\": strconv.ParseUint: parsing \"" + std::string(text) + "\": invalid syntax";
  // Upstream's list wraps it as a bad request, its watch does not.
  if (watch) return Unexpected(Error(Reason::kUnknown, 500, why));
  return Unexpected(BadRequest("invalid resource version: " + why));
}

Status CheckMatch(const ListOptions& options, bool watch) {
  api::FieldErrors errors;
  const api::FieldPath match("resourceVersionMatch");
  if (watch && options.send_initial_events && options.version_match != "NotOlderThan") {
    errors.Forbidden(match, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  } else if (watch && !options.send_initial_events && !options.version_match.empty()) {
    errors.Forbidden(match,
                     "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  } else if (!watch && options.send_initial_events) {
    errors.Forbidden(api::FieldPath("sendInitialEvents"), "sendInitialEvents is forbidden for list");
  } else if (!watch && !options.version_match.empty()) {
    if (options.version_match != "Exact" && options.version_match != "NotOlderThan") {
      errors.NotSupported(match, options.version_match, {"Exact", "NotOlderThan", ""});
    } else if (!options.continue_token.empty()) {
      errors.Forbidden(match, "resourceVersionMatch is forbidden when continue is provided");
    } else if (!options.resource_version) {
      errors.Forbidden(match, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    } else if (options.version_match == "Exact" && *options.resource_version == 0) {
      errors.Forbidden(match, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
  }
  if (errors.empty()) return {};
  return Unexpected(errors.ToError("meta.k8s.io", "ListOptions", ""));
}

}  // namespace

Result<ListOptions> ParseListOptions(const RequestInfo& info, const api::KindInfo& kind, bool watch) {
  ListOptions options;
  const auto& query = info.query;
  FLYBALL_ASSIGN(options.labels, api::LabelSelector::Parse(query.Get("labelSelector")));
  FLYBALL_ASSIGN(options.fields, api::FieldSelector::Parse(query.Get("fieldSelector"), kind));
  if (const auto text = query.Get("limit"); !text.empty()) {
    FLYBALL_ASSIGN(options.limit, ParseInt(text));
    if (options.limit < 0) options.limit = 0;
  }
  if (const auto text = query.Get("timeoutSeconds"); !text.empty()) {
    FLYBALL_ASSIGN(options.timeout_seconds, ParseInt(text));
  }
  options.continue_token = query.Get("continue");
  options.version_match = query.Get("resourceVersionMatch");
  options.allow_bookmarks = query.Bool("allowWatchBookmarks");
  if (query.Has("sendInitialEvents")) options.send_initial_events = query.Bool("sendInitialEvents");
  if (const auto text = query.Get("resourceVersion"); !text.empty()) {
    FLYBALL_ASSIGN(options.resource_version, ParseVersion(text, watch));
  }
  FLYBALL_TRY(CheckMatch(options, watch));
  if (!options.continue_token.empty() && options.resource_version.value_or(0) != 0)
    return Unexpected(BadRequest("specifying resource version is not allowed when using continue"));
  return options;
}

ObjectFilter FilterOf(const RequestInfo& info, const ListOptions& options) {
  ObjectFilter filter;
  filter.namespace_name = info.namespace_name;
  if (const auto name = options.fields.RequiredValue("metadata.name")) filter.name = *name;
  if (filter.namespace_name.empty())
    if (const auto space = options.fields.RequiredValue("metadata.namespace")) filter.namespace_name = *space;
  filter.labels = options.labels;
  filter.fields = options.fields;
  return filter;
}

// Upstream's shape: base64url of {"v":"meta.k8s.io/v1","rv":N,"start":"key\u0000"}.
std::string EncodeContinue(const ContinueToken& token) {
  json::Object out{{"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"start", token.start_key}};
  return net::Base64UrlEncode(json::Write(json::Value(std::move(out))));
}

Result<ContinueToken> DecodeContinue(std::string_view text) {
  const auto invalid = [](const std::string& why) {
    return Unexpected(BadRequest("invalid continue token: continue key is not valid: " + why));
  };
  while (text.ends_with('=')) text.remove_suffix(1);
  const auto decoded = net::Base64UrlDecode(text);
  if (!decoded) return invalid(decoded.error().message());
  const auto value = json::Parse(*decoded);
  if (!value) return invalid(value.error().message());
  if ((*value)["v"].string_or("") != "meta.k8s.io/v1")
    return invalid("server does not recognize this encoded version \"" +
                   std::string((*value)["v"].string_or("")) + "\"");
  ContinueToken token{(*value)["rv"].int_or(0), std::string((*value)["start"].string_or(""))};
  if (token.revision == 0) return invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (token.start_key.empty()) return invalid("encoded start key empty (version meta.k8s.io/v1)");
  return token;
}

}  // namespace flyball::server
