// The paths of an OpenAPI document before they are written: operations and their parameters, in words that
// both versions of OpenAPI share. Internal to openapi.h. Plain values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/openapi/json_text.h"
#include "api/openapi/schemas.h"

namespace flyball::api {

struct OpenApiParameter {
  std::string name, type, description;
  bool in_path = false;

  bool operator==(const OpenApiParameter&) const = default;
};

// What comes back, by media types.
enum class Produced { kObject, kList, kWatch, kLog, kText, kAnything };

struct OpenApiOperation {
  std::string_view method;  // "get"
  std::string_view action;  // x-kubernetes-action; empty: none, and no kind either
  std::string id, description;
  std::vector<OpenApiParameter> parameters;
  std::string body;      // name of the schema taken; empty: none
  std::string response;  // name of the schema given; empty: text
  GroupVersionKind gvk;
  Produced produced = Produced::kObject;
  bool body_required = true;
  bool created = false;         // answers 201 too
  bool accepted = false;        // answers 202 too
  bool describes = true;        // answers 200
  std::string media_type = {};  // of text
};

struct PathItem {
  std::string path, tag;
  std::vector<OpenApiParameter> parameters;  // of all operations, besides those that all of them have
  std::vector<OpenApiOperation> operations;
  bool custom = false;  // of a custom kind: no protobuf, no strategic merge
};

// Writes paths. In version 2 parameters that do not name the kind are written once, below "parameters", and
// referred to; the caller writes those when all paths are done. Confined to the function that writes a
// document.
class PathItemWriter {
 public:
  PathItemWriter(Dialect dialect, const SchemaSet& schemas, JsonText& json)
      : dialect_(dialect), schemas_(schemas), json_(json) {}

  // A member of "paths".
  void Write(PathItem item);
  // The members of a version 2 document's "parameters".
  void WriteSharedParameters() const;

 private:
  void WriteOperation(const PathItem& item, const OpenApiOperation& op);
  void MediaTypes(const PathItem& item, const OpenApiOperation& op);
  void Parameters(const std::vector<OpenApiParameter>& parameters, const OpenApiOperation* body_of);
  void Parameter(const OpenApiParameter& parameter);
  void BodyParameter(const OpenApiOperation& op);
  void Share(const std::string& name, std::string text);
  void RequestBody(const PathItem& item, const OpenApiOperation& op);
  void Response(std::string_view code, std::string_view description, const PathItem& item,
                const OpenApiOperation& op);
  void ResponseSchema(const OpenApiOperation& op);
  void Responses(const PathItem& item, const OpenApiOperation& op);

  const Dialect dialect_;
  const SchemaSet& schemas_;
  JsonText& json_;
  std::map<std::string, std::string> shared_;  // name in the document to the parameter's text
};

}  // namespace flyball::api
