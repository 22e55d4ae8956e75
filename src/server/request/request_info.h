// RequestInfo: what a request's method and path mean (upstream: apiserver/pkg/endpoints/request.RequestInfo).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/select/selector.h"
#include "base/values/result.h"

namespace flyball::server {

// Query parameters, percent-decoded, in order. Thread-compatible.
class Query {
 public:
  Query() = default;
  // Parts that are not well-formed percent-encoding are kept as they are.
  explicit Query(std::string_view text);

  // The first value, or "".
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  std::vector<std::string_view> GetAll(std::string_view name) const;
  // As upstream reads booleans: absent, "0" and "false" are false, everything else is true, "" too
  // (`?watch`).
  bool Bool(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// %XX and, if `plus`, '+' decoded. False if an escape is malformed (out then holds the text as it was).
bool PercentDecode(std::string_view text, bool plus, std::string& out);

struct RequestInfo {
  std::string path;  // decoded, without the query
  Query query;
  bool is_resource = false;
  std::string verb;  // get list watch create update patch delete deletecollection; the lower-case method if
                     // not a resource
  std::string group, version;
  std::string namespace_name, resource, name, subresource;
  // The path is /namespaces/<namespace_name>/<resource>/...: the resource is asked for inside a namespace.
  // False for /namespaces/<name>, the Namespace object itself, although namespace_name is set there too.
  bool in_namespace = false;
  std::vector<std::string> rest;  // path segments after the subresource (proxy paths)
  // The field selector's terms, of list, watch and deletecollection; none if it is malformed. Authorisation
  // looks at them.
  std::vector<api::FieldTerm> field_terms;
  std::string selector_name;  // "x" of fieldSelector=metadata.name=x: authorisation may use it as the name
  bool deprecated_watch = false;  // /api/v1/watch/...
};

// BadRequest if the path's escapes are malformed or it contains a NUL byte.
Result<RequestInfo> ParseRequestInfo(std::string_view method, std::string_view target);

// Whether "get,list,watch" has "list".
bool HasVerb(std::string_view verbs, std::string_view verb);

}  // namespace flyball::server
