#include "cli/kustomize/resource/field_spec.h"

#include <algorithm>

#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/resource/resource.h"
#include "json/yaml/yaml.h"

namespace flyball::cli::kustomize {
namespace {

// Walks one path. Confined to one call of ChangeField.
class PathWalk {
 public:
  PathWalk(const FieldSpec& spec, CreateAs create, const FieldChange& change)
      : path_(SplitPath(spec.path, '/')),
        create_(spec.create ? create : CreateAs::kNothing),
        change_(change) {}

  Status Visit(json::Value& node, std::size_t depth) {
    if (depth == path_.size()) return change_(node);
    if (node.is_null()) return {};
    if (node.is_array()) return VisitItems(node, depth);
    if (node.is_object()) return VisitMember(node, depth);
    return Fail("expected sequence or mapping node");
  }

 private:
  Status VisitItems(json::Value& list, std::size_t depth) {
    for (json::Value& item : list.as_array()) {
      auto visited = Visit(item, depth);
      if (!visited) return Wrap("visit traversal on path: " + PathText(depth), visited.error());
    }
    return {};
  }

  Status VisitMember(json::Value& map, std::size_t depth) {
    std::string name = path_[depth];
    const bool is_list = name.ends_with("[]");
    if (is_list) name.resize(name.size() - 2);
    if (name.empty()) return Fail("cannot set or create an empty field name");
    json::Value* member = map.Find(name);
    const CreateAs as = is_list ? CreateAs::kNothing : AtDepth(depth);
    if (member == nullptr && as == CreateAs::kNothing) return {};
    if (member == nullptr) member = &map[name];
    if (member->is_null()) Fill(*member, is_list, as);
    return Visit(*member, depth + 1);
  }

  CreateAs AtDepth(std::size_t depth) const {
    return create_ == CreateAs::kNothing || depth + 1 == path_.size() ? create_ : CreateAs::kMap;
  }

  static void Fill(json::Value& member, bool is_list, CreateAs as) {
    if (is_list) member = json::Array();
    if (as == CreateAs::kMap) member = json::Object();
    if (as == CreateAs::kScalar) member = "";
  }

  std::string PathText(std::size_t depth) const {
    std::string text;
    for (; depth < path_.size(); ++depth) text += (text.empty() ? "" : " ") + path_[depth];
    return "[" + text + "]";
  }

  const std::vector<std::string> path_;
  const CreateAs create_;
  const FieldChange& change_;
};

ResourceId IdOf(const json::Value& object) {
  Resource resource;
  resource.object["apiVersion"] = object["apiVersion"];
  resource.object["kind"] = object["kind"];
  resource.object["metadata"] = object["metadata"];
  return resource.Id();
}

}  // namespace

Status MergeFieldSpecs(FieldSpecs& into, const FieldSpecs& from) {
  for (const FieldSpec& spec : from) {
    const auto same = std::find_if(into.begin(), into.end(), [&](const FieldSpec& known) {
      return known.path == spec.path && known.gvk.IsSelectedBy(spec.gvk);
    });
    if (same == into.end())
      into.push_back(spec);
    else if (same->create != spec.create)
      return Fail("conflicting fieldspecs");
  }
  return {};
}

Status ChangeField(json::Value& object, const FieldSpec& spec, CreateAs create, const FieldChange& change) {
  const ResourceId id = IdOf(object);
  if (!id.gvk.IsSelectedBy(spec.gvk)) return {};
  auto walked = PathWalk(spec, create, change).Visit(object, 0);
  if (walked) return {};
  return Wrap("considering field '" + spec.path + "' of object " + id.ToString(), walked.error());
}

Status ChangeFields(json::Value& object, const FieldSpecs& specs, CreateAs create,
                    const FieldChange& change) {
  for (const FieldSpec& spec : specs) FLYBALL_TRY(ChangeField(object, spec, create, change));
  return {};
}

FieldChange SetScalar(json::Value value) {
  return [value = std::move(value)](json::Value& node) -> Status {
    if (node.is_array() || node.is_object()) return Fail(WrongKindText("ScalarNode", node));
    node = value;
    return {};
  };
}

FieldChange SetMember(std::string key, json::Value value) {
  return [key = std::move(key), value = std::move(value)](json::Value& node) -> Status {
    if (!node.is_object()) return Fail(WrongKindText("MappingNode", node));
    node[key] = value;
    return {};
  };
}

std::vector<std::string> SplitPath(std::string_view path, char delimiter) {
  std::vector<std::string> parts(1);
  if (!path.empty() && path[0] == delimiter) path.remove_prefix(1);
  for (const char c : path) {
    if (c != delimiter)
      parts.back() += c;
    else if (parts.back().ends_with('\\'))
      parts.back().back() = delimiter;
    else
      parts.emplace_back();
  }
  return parts;
}

std::string NodeKindName(const json::Value& value) {
  return value.is_object() ? "MappingNode" : value.is_array() ? "SequenceNode" : "ScalarNode";
}

std::string WrongKindText(const std::string& expected, const json::Value& actual) {
  std::string contents = json::WriteYaml(actual);
  contents.pop_back();  // the line break
  return "wrong node kind: expected " + expected + " but got " + NodeKindName(actual) + ": node contents:\n" +
         contents;
}

}  // namespace flyball::cli::kustomize
