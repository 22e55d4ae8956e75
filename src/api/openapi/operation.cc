#include "api/openapi/operation.h"

#include <algorithm>
#include <utility>

namespace flyball::api {

namespace {

std::vector<std::string_view> ProducedTypes(const PathItem& item, const OpenApiOperation& op) {
  if (op.produced == Produced::kText && op.media_type.empty()) return {};
  if (op.produced == Produced::kText) return {op.media_type};
  if (op.produced == Produced::kAnything) return {"*/*"};
  std::vector<std::string_view> types;
  if (op.produced == Produced::kLog) types.emplace_back("text/plain");
  types.insert(types.end(), {"application/json", "application/yaml"});
  if (item.custom) return types;
  types.emplace_back("application/vnd.kubernetes.protobuf");
  if (op.produced != Produced::kList && op.produced != Produced::kWatch) return types;
  types.emplace_back("application/json;stream=watch");
  types.emplace_back("application/vnd.kubernetes.protobuf;stream=watch");
  return types;
}

std::vector<std::string_view> ConsumedTypes(const PathItem& item, const OpenApiOperation& op) {
  if (op.action.empty() && op.produced == Produced::kText) return {};
  if (op.action.empty())
    return {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"};
  if (op.method != "patch" || op.action != "patch") {
    if (item.custom) return {"application/json", "application/yaml"};
    return {"*/*"};
  }
  if (item.custom)
    return {"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"};
  return {"application/json-patch+json", "application/merge-patch+json",
          "application/strategic-merge-patch+json", "application/apply-patch+yaml"};
}

// What every operation has is said once, of the path.
void LiftCommonParameters(PathItem& item) {
  if (item.operations.empty()) return;
  for (const OpenApiParameter& parameter : item.operations.front().parameters) {
    const auto has = [&](const OpenApiOperation& op) {
      return std::find(op.parameters.begin(), op.parameters.end(), parameter) != op.parameters.end();
    };
    if (std::all_of(item.operations.begin(), item.operations.end(), has))
      item.parameters.push_back(parameter);
  }
  for (OpenApiOperation& op : item.operations)
    std::erase_if(op.parameters, [&](const OpenApiParameter& parameter) {
      return std::find(item.parameters.begin(), item.parameters.end(), parameter) != item.parameters.end();
    });
}

void SortByName(std::vector<OpenApiParameter>& parameters) {
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
}

// kubectl before 1.28 looks for these two where they are used.
bool IsShared(const OpenApiParameter& parameter) {
  if (parameter.name == "name") return false;
  return parameter.in_path || (parameter.name != "fieldValidation" && parameter.name != "dryRun");
}

std::string ParameterText(const OpenApiParameter& parameter, Dialect dialect) {
  JsonText json;
  json.Object([&] {
    if (!parameter.description.empty()) json.String("description", parameter.description);
    json.String("in", parameter.in_path ? "path" : "query");
    json.String("name", parameter.name);
    if (parameter.in_path) json.Bool("required", true);
    if (dialect == Dialect::kV3) {
      json.Object("schema", [&] {
        json.String("type", parameter.type);
        json.Bool("uniqueItems", true);
      });
    } else {
      json.String("type", parameter.type);
      json.Bool("uniqueItems", true);
    }
  });
  return json.Take();
}

}  // namespace

void PathItemWriter::Write(PathItem item) {
  LiftCommonParameters(item);
  SortByName(item.parameters);
  json_.Object(item.path, [&] {
    for (OpenApiOperation& op : item.operations) {
      SortByName(op.parameters);
      WriteOperation(item, op);
    }
    if (!item.parameters.empty()) Parameters(item.parameters, nullptr);
  });
}

void PathItemWriter::WriteSharedParameters() const {
  for (const auto& [name, text] : shared_) json_.Raw(name, text);
}

void PathItemWriter::WriteOperation(const PathItem& item, const OpenApiOperation& op) {
  const bool v2 = dialect_ == Dialect::kV2;
  json_.Object(op.method, [&] {
    if (!op.description.empty()) json_.String("description", op.description);
    json_.String("operationId", op.id);
    json_.Array("tags", [&] { json_.String(item.tag); });
    if (v2) MediaTypes(item, op);
    if (!op.parameters.empty() || (v2 && !op.body.empty())) Parameters(op.parameters, v2 ? &op : nullptr);
    if (!v2 && !op.body.empty()) RequestBody(item, op);
    Responses(item, op);
    if (op.action.empty()) return;
    json_.String("x-kubernetes-action", op.action);
    json_.Key("x-kubernetes-group-version-kind");
    WriteGroupVersionKind(op.gvk, json_);
  });
}

void PathItemWriter::MediaTypes(const PathItem& item, const OpenApiOperation& op) {
  const auto types = [&](std::string_view key, const std::vector<std::string_view>& names) {
    if (names.empty()) return;
    json_.Array(key, [&] {
      for (const auto name : names) json_.String(name);
    });
  };
  types("consumes", ConsumedTypes(item, op));
  types("produces", ProducedTypes(item, op));
  json_.Raw("schemes", R"(["https"])");
}

void PathItemWriter::Parameters(const std::vector<OpenApiParameter>& parameters,
                                const OpenApiOperation* body_of) {
  json_.Array("parameters", [&] {
    if (body_of != nullptr && !body_of->body.empty()) BodyParameter(*body_of);
    for (const OpenApiParameter& parameter : parameters) Parameter(parameter);
  });
}

void PathItemWriter::Parameter(const OpenApiParameter& parameter) {
  std::string text = ParameterText(parameter, dialect_);
  if (dialect_ == Dialect::kV3 || !IsShared(parameter)) return json_.Raw(text);
  Share(parameter.name, std::move(text));
}

void PathItemWriter::BodyParameter(const OpenApiOperation& op) {
  JsonText json;
  json.Object([&] {
    json.String("in", "body");
    json.String("name", "body");
    if (op.body_required) json.Bool("required", true);
    json.Object("schema", [&] { schemas_.WriteRef(op.body, json); });
  });
  if (op.body.starts_with("io.k8s.apimachinery")) return Share("body", json.Take());
  json_.Raw(json.Take());
}

// {"$ref": "#/parameters/limit-1NfNmdNH"}: the name, and some letters of a hash of what it stands for.
void PathItemWriter::Share(const std::string& name, std::string text) {
  constexpr std::size_t kLetters = 8;
  const std::string key = name + "-" + DocumentHash(text).substr(0, kLetters);
  shared_.emplace(key, std::move(text));
  json_.Object([&] { json_.String("$ref", "#/parameters/" + key); });
}

void PathItemWriter::RequestBody(const PathItem& item, const OpenApiOperation& op) {
  json_.Object("requestBody", [&] {
    json_.Object("content", [&] {
      for (const auto type : ConsumedTypes(item, op))
        json_.Object(type, [&] { json_.Object("schema", [&] { schemas_.WriteRef(op.body, json_); }); });
    });
    if (op.body_required) json_.Bool("required", true);
  });
}

void PathItemWriter::ResponseSchema(const OpenApiOperation& op) {
  json_.Object("schema", [&] {
    if (op.response.empty())
      json_.String("type", "string");
    else
      schemas_.WriteRef(op.response, json_);
  });
}

void PathItemWriter::Response(std::string_view code, std::string_view description, const PathItem& item,
                              const OpenApiOperation& op) {
  json_.Object(code, [&] {
    json_.String("description", description);
    if (dialect_ == Dialect::kV2) return ResponseSchema(op);
    json_.Object("content", [&] {
      for (const auto type : ProducedTypes(item, op)) json_.Object(type, [&] { ResponseSchema(op); });
    });
  });
}

void PathItemWriter::Responses(const PathItem& item, const OpenApiOperation& op) {
  json_.Object("responses", [&] {
    if (op.describes) Response("200", "OK", item, op);
    if (op.created) Response("201", "Created", item, op);
    if (op.accepted) Response("202", "Accepted", item, op);
    json_.Raw("401", R"({"description":"Unauthorized"})");
  });
}

}  // namespace flyball::api
