#include "api/custom/definition_warnings.h"

#include <algorithm>
#include <set>

#include "api/custom/schema_node.h"
#include "api/formats/string_format.h"
#include "api/values/go_text.h"

namespace flyball::api {

namespace {

using json::Value;

// The walk over a whole schema, in upstream's order (validation.SchemaHas).
class SchemaWarnings {
 public:
  void Visit(const Value& node) {
    if (!node.is_object()) return;
    NoteFormat(node);
    NoteSet(node);
    VisitAny(node["items"]);
    for (const char* keyword : {"allOf", "anyOf", "oneOf", "not"}) VisitAny(node[keyword]);
    VisitMembers(node["properties"]);
    Visit(node["additionalProperties"]);
    VisitMembers(node["patternProperties"]);
    Visit(node["additionalItems"]);
    VisitMembers(node["definitions"]);
    VisitMembers(node["dependencies"]);
  }

  std::vector<std::string> Take() && {
    formats_.insert(formats_.end(), sets_.begin(), sets_.end());
    return std::move(formats_);
  }

 private:
  void VisitAny(const Value& one_or_many) {
    if (!one_or_many.is_array()) return Visit(one_or_many);
    for (const Value& node : one_or_many.as_array()) Visit(node);
  }
  void VisitMembers(const Value& nodes) {
    if (!nodes.is_object()) return;
    for (const auto& member : nodes.as_object()) Visit(member.second);
  }
  void NoteFormat(const Value& node) {
    const auto format = node["format"].string_or("");
    if (format.empty() || IsSupportedFormat(TypeOf(node), format)) return;
    std::string warning = "unrecognized format " + GoQuote(format);
    if (std::find(formats_.begin(), formats_.end(), warning) == formats_.end())
      formats_.push_back(std::move(warning));
  }
  void NoteSet(const Value& node) {
    const auto items = TypeOf(node["items"]);
    if (node["x-kubernetes-list-type"].string_or("") != "set" || (items != "object" && items != "array"))
      return;
    sets_.insert("x-kubernetes-list-type: set for items of type " + GoQuote(items) +
                 " is not supported by server-side apply or CEL validation rules");
  }

  std::vector<std::string> formats_;
  std::set<std::string> sets_;
};

}  // namespace

void WarnOfDefinition(const Value& definition, std::vector<std::string>& out) {
  SchemaWarnings warnings;
  const Value& versions = definition["spec"]["versions"];
  if (versions.is_array())
    for (const Value& version : versions.as_array()) warnings.Visit(version["schema"]["openAPIV3Schema"]);
  for (std::string& warning : std::move(warnings).Take()) out.push_back(std::move(warning));
}

}  // namespace flyball::api
