// FieldSchemas: the schemas of one group and version, as the server publishes them (OpenAPI v3).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball::cli {

// A value; what it returns lives as long as it does.
class FieldSchemas {
 public:
  static Result<FieldSchemas> Load(Session& session, const KindRef& kind);
  explicit FieldSchemas(json::Value document) : document_(std::move(document)) {}

  // Null if there is none.
  const json::Value* Of(const KindRef& kind) const;
  // The schema that describes the members: follows references, and takes the element of lists and maps.
  const json::Value& Resolve(const json::Value& schema) const;
  // The name of the definition that a schema refers to; "" if it refers to none.
  static std::string ReferredName(const json::Value& schema);
  // The schema of the field that the names lead to from `schema`; BadRequest, in kubectl's words, if there is
  // none.
  Result<const json::Value*> Follow(const json::Value& schema, const std::vector<std::string>& path) const;
  // The definition; null Value if there is none.
  const json::Value& Definition(const std::string& name) const { return all()[name]; }

 private:
  const json::Value& all() const { return std::as_const(document_)["components"]["schemas"]; }

  json::Value document_;
};

bool IsRequiredField(const json::Value& owner, std::string_view field);

// What is to be shown of a kind, or of one of its fields.
struct Explanation {
  KindRef kind;
  std::vector<std::string> path;  // of the field
  bool recursive = false;
  int max_depth = 0;  // of fields of fields; 0: all
};

// kubectl's two ways to show it: by the OpenAPI v3 document (--output=plaintext), and as it did from OpenAPI
// v2 (--output=plaintext-openapiv2). `out` gets what is printed, also before an error.
Status ExplainField(const FieldSchemas& schemas, const Explanation& what, std::string* out);
Status ExplainFieldAsV2(const FieldSchemas& schemas, const Explanation& what, std::string* out);

}  // namespace flyball::cli
