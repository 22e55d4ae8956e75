#include <map>
#include <set>

#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/transform/field_path.h"
#include "cli/kustomize/transform/finishing.h"

namespace flyball::cli::kustomize {
namespace {

// Puts values in place of $(NAME); $$ stands for $.
class Expansion {
 public:
  explicit Expansion(std::map<std::string, json::Value> values) : values_(std::move(values)) {}

  // A text that is nothing but one variable gets the variable's type too.
  json::Value Expand(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '$' || i + 1 == text.size()) {
        out += text[i];
        continue;
      }
      const std::size_t close = text[i + 1] == '(' ? text.find(')', i) : std::string::npos;
      if (close == std::string::npos) {
        if (text[i + 1] != '$') out += '$';
        out += text[++i];
        continue;
      }
      const json::Value value = ValueOf(text.substr(i + 2, close - i - 2));
      if (i == 0 && close + 1 == text.size()) return value;
      out += ScalarText(value);
      i = close;
    }
    return out;
  }

  Status Change(json::Value& node) {
    if (node.is_string()) node = Expand(ScalarText(node));
    if (node.is_object())
      for (auto& [key, member] : node.as_object())
        if (member.is_string()) member = Expand(ScalarText(member));
    if (!node.is_array()) return {};
    for (json::Value& item : node.as_array()) {
      if (!item.is_string()) return Fail("invalid value type expect a string");
      item = Expand(ScalarText(item));
    }
    return {};
  }

  std::string Unused() const {
    std::string names;
    for (const auto& [name, value] : values_)
      if (used_.count(name) == 0) names += (names.empty() ? "" : ",") + name;
    return names;
  }

 private:
  json::Value ValueOf(const std::string& name) {
    const auto found = values_.find(name);
    const bool usable = found != values_.end() && !found->second.is_object() && !found->second.is_array();
    if (!usable) return "$(" + name + ")";
    used_.insert(name);
    return found->second;
  }

  const std::map<std::string, json::Value> values_;
  std::set<std::string> used_;
};

Result<json::Value> ReadVariable(const ResourceList& resources, const Variable& variable) {
  for (const auto& resource : resources.items()) {
    const auto& names = resource->var_names;
    if (std::find(names.begin(), names.end(), variable.name) == names.end()) continue;
    auto found = LookUp(resource->object, SplitFieldPath(variable.field_path));
    if (!found || *found == nullptr || (*found)->is_null())
      return Fail("field specified in var '" + variable.ToString() + "' not found in corresponding resource");
    return **found;
  }
  return Fail("var '" + variable.ToString() + "' cannot be mapped to a field in the set of known resources");
}

}  // namespace

Status BindVariables(ResourceList& resources, const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    const ResourceId& id = variable.object;
    const bool exact = !id.ns.empty() || id.gvk.IsClusterScoped();
    const auto matched = resources.WithAnyId([&](const ResourceId& other) {
      return exact ? id.IsSame(other) : id.name == other.name && id.gvk == other.gvk;
    });
    if (matched.size() > 1)
      return Fail("found " + std::to_string(matched.size()) + " resId matches for var " +
                  variable.ToString() + " (unable to disambiguate)");
    if (matched.size() == 1) matched[0]->var_names.push_back(variable.name);
  }
  return {};
}

Status ResolveVariables(ResourceList& resources, const std::vector<Variable>& variables,
                        const FieldSpecs& specs, std::vector<std::string>& warnings) {
  std::map<std::string, json::Value> values;
  for (const Variable& variable : variables) {
    FLYBALL_ASSIGN(values[variable.name], ReadVariable(resources, variable));
  }
  if (values.empty()) return {};
  Expansion expansion(std::move(values));
  for (const auto& resource : resources.items())
    FLYBALL_TRY(ChangeFields(resource->object, specs, CreateAs::kNothing,
                             [&](json::Value& node) { return expansion.Change(node); }));
  const std::string unused = expansion.Unused();
  if (!unused.empty()) warnings.push_back("well-defined vars that were never replaced: " + unused);
  return {};
}

}  // namespace flyball::cli::kustomize
