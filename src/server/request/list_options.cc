#include "server/request/list_options.h"

#include <charconv>

#include "api/rules/field_error.h"
#include "json/json.h"
#include "net/tls/pki.h"

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

Result<store::Revision> ParseVersion(std::string_view text) {
  store::Revision value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  return Unexpected(Error(Reason::kUnknown, 500,
                          "resourceVersion: Invalid value: \"" + std::string(text) +
                              "\": strconv.ParseUint: parsing \"" + std::string(text) +
                              "\": invalid syntax"));
}

// Upstream's list wraps it as a bad request; its get and its watch do not.
Result<store::Revision> ParseListVersion(std::string_view text, bool watch) {
  auto version = ParseVersion(text);
  if (version || watch) return version;
  return Unexpected(BadRequest("invalid resource version: " + version.error().message()));
}

void CheckListMatch(const ListOptions& options, std::string_view version, api::FieldErrors& errors) {
  const api::FieldPath path("resourceVersionMatch");
  const auto& match = options.version_match;
  if (!match.empty()) {
    if (version.empty())
      errors.Forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (!options.continue_token.empty())
      errors.Forbidden(path, "resourceVersionMatch is forbidden when continue is provided");
    if (match != "Exact" && match != "NotOlderThan")
      errors.NotSupported(path, match, {"Exact", "NotOlderThan", ""});
    if (match == "Exact" && version == "0")
      errors.Forbidden(path, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  }
  if (options.send_initial_events)
    errors.Forbidden(api::FieldPath("sendInitialEvents"), "sendInitialEvents is forbidden for list");
}

void CheckWatchMatch(const ListOptions& options, api::FieldErrors& errors) {
  const api::FieldPath path("resourceVersionMatch");
  const auto& match = options.version_match;
  if (options.send_initial_events && match != "NotOlderThan")
    errors.Forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (!match.empty() && !options.send_initial_events)
    errors.Forbidden(path,
                     "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  if (!match.empty() && match != "NotOlderThan") errors.NotSupported(path, match, {"NotOlderThan"});
  if (!options.continue_token.empty())
    errors.Forbidden(path, "resourceVersionMatch is forbidden when continue is provided");
}

// A key that is its own cleaned path: no "..", no empty segments (upstream: path.Clean).
bool IsCleanKey(std::string_view key) {
  while (!key.empty()) {
    const auto slash = key.find('/');
    const auto segment = key.substr(0, slash);
    if (segment.empty() || segment == "." || segment == "..") return false;
    if (slash == std::string_view::npos) return true;
    key.remove_prefix(slash + 1);
  }
  return false;  // ends with a slash
}

}  // namespace

namespace {

// /watch/.../name watches one object; a selector must not name another.
Status SelectNamed(const RequestInfo& info, const api::KindInfo& kind, api::FieldSelector& fields) {
  if (info.name.empty()) return {};
  if (fields.empty()) {
    FLYBALL_ASSIGN(fields, api::FieldSelector::Parse("metadata.name=" + info.name, kind));
    return {};
  }
  const auto selected = fields.RequiredValue("metadata.name");
  if (selected && *selected == info.name) return {};
  return Unexpected(BadRequest("fieldSelector metadata.name doesn't match requested name"));
}

}  // namespace

Result<ListOptions> ParseListOptions(const RequestInfo& info, const api::KindInfo& kind, bool watch) {
  ListOptions options;
  const auto& query = info.query;
  FLYBALL_ASSIGN(options.labels, api::LabelSelector::Parse(query.Get("labelSelector")));
  FLYBALL_ASSIGN(options.fields, api::FieldSelector::Parse(query.Get("fieldSelector"), kind));
  FLYBALL_TRY(SelectNamed(info, kind, options.fields));
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
  const auto version = query.Get("resourceVersion");
  api::FieldErrors errors;
  if (watch) {
    CheckWatchMatch(options, errors);
  } else {
    CheckListMatch(options, version, errors);
  }
  if (!errors.empty()) return Unexpected(errors.ToError("meta.k8s.io", "ListOptions", ""));
  if (!version.empty()) {
    FLYBALL_ASSIGN(options.resource_version, ParseListVersion(version, watch));
  }
  if (!options.continue_token.empty() && options.resource_version.value_or(0) != 0)
    return Unexpected(BadRequest("specifying resource version is not allowed when using continue"));
  return options;
}

Result<store::Revision> ParseGetVersion(const RequestInfo& info) {
  const auto text = info.query.Get("resourceVersion");
  if (text.empty()) return store::Revision{0};
  return ParseVersion(text);
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
std::string EncodeContinue(const ContinueToken& token, std::string_view namespace_name) {
  std::string_view start = token.start_key;
  if (!namespace_name.empty()) start.remove_prefix(namespace_name.size() + 1);
  json::Object out{{"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"start", start}};
  return net::Base64UrlEncode(json::Write(json::Value(std::move(out))));
}

Result<ContinueToken> DecodeContinue(std::string_view text, std::string_view namespace_name) {
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
  std::string_view start = token.start_key;
  if (start.starts_with('/')) start.remove_prefix(1);
  if (!IsCleanKey(start)) return invalid(token.start_key);
  token.start_key =
      namespace_name.empty() ? std::string(start) : std::string(namespace_name) + "/" + std::string(start);
  return token;
}

}  // namespace flyball::server
