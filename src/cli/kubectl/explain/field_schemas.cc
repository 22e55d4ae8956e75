#include "cli/kubectl/explain/field_schemas.h"

#include <algorithm>

#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"

namespace flyball::cli {

Result<FieldSchemas> FieldSchemas::Load(Session& session, const KindRef& kind) {
  RestRequest request;
  request.path = "/openapi/v3/" + (kind.group.empty() ? "api/v1" : "apis/" + kind.ApiVersion());
  auto document = session.Call(std::move(request));
  if (!document && document.error().Is(Reason::kNotFound))
    return Unexpected(
        LocalError("couldn't find resource for \"" + kind.ApiVersion() + ", Resource=" + kind.plural + "\""));
  if (!document) return Unexpected(document.error());
  return FieldSchemas(std::move(*document));
}

const json::Value* FieldSchemas::Of(const KindRef& kind) const {
  if (!all().is_object()) return nullptr;
  for (const auto& member : all().as_object())
    for (const json::Value& gvk : Elements(member.second["x-kubernetes-group-version-kind"]))
      if (gvk["group"].string_or("") == kind.group && gvk["version"].string_or("") == kind.version &&
          gvk["kind"].string_or("") == kind.kind)
        return &member.second;
  return nullptr;
}

std::string FieldSchemas::ReferredName(const json::Value& schema) {
  const auto& alternatives = Elements(schema["allOf"]);
  const json::Value& ref = alternatives.size() == 1 ? alternatives[0]["$ref"] : schema["$ref"];
  const std::string text(ref.string_or(""));
  return text.empty() ? "" : text.substr(text.rfind('/') + 1);
}

const json::Value& FieldSchemas::Resolve(const json::Value& schema) const {
  if (const std::string name = ReferredName(schema); !name.empty()) return Resolve(all()[name]);
  if (schema["items"].is_object()) return Resolve(schema["items"]);
  if (schema["additionalProperties"].is_object()) return Resolve(schema["additionalProperties"]);
  return schema;
}

Result<const json::Value*> FieldSchemas::Follow(const json::Value& schema,
                                                const std::vector<std::string>& path) const {
  const json::Value* field = &schema;
  for (const std::string& name : path) {
    field = &Resolve(*field)["properties"][name];
    if (field->is_null()) return Unexpected(LocalError("field \"" + name + "\" does not exist"));
  }
  return field;
}

bool IsRequiredField(const json::Value& owner, std::string_view field) {
  const auto& required = Elements(owner["required"]);
  return std::any_of(required.begin(), required.end(),
                     [&](const json::Value& name) { return name.string_or("") == field; });
}

}  // namespace flyball::cli
