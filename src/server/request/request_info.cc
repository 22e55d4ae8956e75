#include "server/request/request_info.h"

#include <algorithm>

#include "api/rules/format.h"
#include "base/values/ascii.h"

namespace flyball::server {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (slash != 0) parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

std::string VerbOf(std::string_view method) {
  if (method == "POST") return "create";
  if (method == "GET" || method == "HEAD") return "get";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "";
}

// The one name that the selector lets through; "" if it could not be one in a path.
std::string NameInSelector(const std::vector<api::FieldTerm>& terms) {
  for (const auto& term : terms)
    if (term.equals && term.field == "metadata.name")
      return api::PathSegmentProblems(term.value).empty() ? term.value : std::string();
  return {};
}

// Upstream reads no selector of the old watch paths, and takes no name from that of a deletecollection.
void ReadSelector(RequestInfo& info) {
  const bool reads = info.verb == "list" || info.verb == "watch";
  if (info.deprecated_watch || (!reads && info.verb != "deletecollection")) return;
  if (auto terms = api::ParseFieldTerms(info.query.Get("fieldSelector")))
    info.field_terms = std::move(*terms);
  if (reads && info.name.empty()) info.selector_name = NameInSelector(info.field_terms);
}

void ParseResource(std::vector<std::string> parts, RequestInfo& info) {
  if (!parts.empty() && parts[0] == "watch") {
    info.deprecated_watch = true;
    info.verb = "watch";
    parts.erase(parts.begin());
  }
  if (parts.empty()) return;
  // A namespace is both a place and an object: /namespaces/x is the object, /namespaces/x/pods is inside it.
  if (parts[0] == "namespaces" && parts.size() > 1) {
    info.namespace_name = parts[1];
    info.in_namespace = parts.size() > 2 && parts[2] != "status" && parts[2] != "finalize";
    if (info.in_namespace) parts.erase(parts.begin(), parts.begin() + 2);
  }
  info.is_resource = true;
  info.resource = parts[0];
  if (parts.size() > 1) info.name = parts[1];
  if (parts.size() > 2) info.subresource = parts[2];
  if (parts.size() > 3) info.rest.assign(parts.begin() + 3, parts.end());
}

void RefineVerb(RequestInfo& info) {
  if (info.name.empty() && info.verb == "get") {
    info.verb = info.query.Bool("watch") ? "watch" : "list";
  } else if (info.name.empty() && info.verb == "delete") {
    info.verb = "deletecollection";
  }
}

}  // namespace

bool PercentDecode(std::string_view text, bool plus, std::string& out) {
  out.clear();
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        out = text;
        return false;
      }
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return true;
}

Query::Query(std::string_view text) {
  while (!text.empty()) {
    const auto amp = text.find('&');
    const auto pair = text.substr(0, amp);
    if (!pair.empty()) {
      const auto equals = pair.find('=');
      std::string name, value;
      PercentDecode(pair.substr(0, equals), true, name);
      if (equals != std::string_view::npos) PercentDecode(pair.substr(equals + 1), true, value);
      fields_.emplace_back(std::move(name), std::move(value));
    }
    if (amp == std::string_view::npos) break;
    text.remove_prefix(amp + 1);
  }
}

std::string_view Query::Get(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (key == name) return value;
  return {};
}

bool Query::Has(std::string_view name) const {
  return std::any_of(fields_.begin(), fields_.end(), [&](const auto& f) { return f.first == name; });
}

std::vector<std::string_view> Query::GetAll(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields_)
    if (key == name) values.push_back(value);
  return values;
}

bool Query::Bool(std::string_view name) const {
  if (!Has(name)) return false;
  const std::string value = LowerCase(Get(name));
  return value != "0" && value != "false";
}

Result<RequestInfo> ParseRequestInfo(std::string_view method, std::string_view target) {
  RequestInfo info;
  const auto question = target.find('?');
  if (!PercentDecode(target.substr(0, question), false, info.path) ||
      info.path.find('\0') != std::string::npos)
    return Unexpected(BadRequest("the request path is malformed"));
  if (question != std::string_view::npos) info.query = Query(target.substr(question + 1));

  auto parts = SplitPath(info.path);
  const bool core = parts.size() >= 2 && parts[0] == "api";
  const bool grouped = parts.size() >= 3 && parts[0] == "apis";
  info.verb = VerbOf(method);
  if (core) {
    info.version = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  } else if (grouped) {
    info.group = parts[1];
    info.version = parts[2];
    parts.erase(parts.begin(), parts.begin() + 3);
  } else {
    parts.clear();
  }
  if (core || grouped) ParseResource(std::move(parts), info);
  if (info.is_resource) {
    RefineVerb(info);
    ReadSelector(info);
  } else {
    info.verb = LowerCase(method);
  }
  return info;
}

bool HasVerb(std::string_view verbs, std::string_view verb) {
  for (;;) {
    const auto end = verbs.find(',');
    if (verbs.substr(0, end) == verb) return true;
    if (end == std::string_view::npos) return false;
    verbs.remove_prefix(end + 1);
  }
}

}  // namespace flyball::server
