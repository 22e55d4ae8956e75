#include "cli/kustomize/transform/transformer_config.h"

#include <algorithm>

#include "cli/kustomize/input/kustomization.h"
#include "cli/kustomize/input/kustomization_shape.h"
#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/resource/resource.h"
#include "cli/kustomize/resource/resource_text.h"
#include "json/yaml/yaml.h"

namespace flyball::cli::kustomize {
namespace {

struct NamedSpecs {
  const char* key;
  const char* name;  // in messages
  FieldSpecs TransformerConfig::*specs;
};
constexpr NamedSpecs kNamedSpecs[] = {
    {"namePrefix", "NamePrefix", &TransformerConfig::name_prefix},
    {"nameSuffix", "NameSuffix", &TransformerConfig::name_suffix},
    {"namespace", "NameSpace", &TransformerConfig::ns},
    {"commonAnnotations", "CommonAnnotations", &TransformerConfig::common_annotations},
    {"commonLabels", "CommonLabels", &TransformerConfig::common_labels},
    {"labels", "Labels", &TransformerConfig::labels},
    {"templateLabels", "TemplateLabels", &TransformerConfig::template_labels},
    {"varReference", "VarReference", &TransformerConfig::var_reference},
    {"images", "Images", &TransformerConfig::images},
    {"replicas", "Replicas", &TransformerConfig::replicas},
};

void SortSpecs(FieldSpecs& specs) {
  std::stable_sort(specs.begin(), specs.end(),
                   [](const FieldSpec& a, const FieldSpec& b) { return ComesBefore(a.gvk, b.gvk); });
}

Status MergeReferences(std::vector<NameReference>& into, const std::vector<NameReference>& from) {
  for (const NameReference& reference : from) {
    const auto same = std::find_if(into.begin(), into.end(), [&](const NameReference& known) {
      return known.target == reference.target;
    });
    if (same == into.end())
      into.push_back(reference);
    else
      FLYBALL_TRY(MergeFieldSpecs(same->referrers, reference.referrers));
  }
  return {};
}

TransformerConfig ConfigFrom(const json::Value& value) {
  TransformerConfig config;
  for (const NamedSpecs& named : kNamedSpecs) config.*named.specs = FieldSpecsFrom(value[named.key]);
  const json::Value& references = value["nameReference"];
  if (references.is_array())
    for (const json::Value& reference : references.as_array())
      config.name_references.push_back(
          {{std::string(reference["group"].string_or("")), std::string(reference["version"].string_or("")),
            std::string(reference["kind"].string_or(""))},
           FieldSpecsFrom(reference["fieldSpecs"])});
  return config;
}

Result<TransformerConfig> ParseConfig(const std::string& text) {
  auto value = json::ParseYaml(text);
  if (!value) return Unexpected(value.error());
  auto conforming = Conform(*value, kTransformerConfigShape);
  if (!conforming) return Wrap("error unmarshaling JSON: while decoding JSON", conforming.error());
  return ConfigFrom(*conforming);
}

// Finds in the definitions of custom kinds the fields that are marked as labels, annotations or references.
class CrdReader {
 public:
  explicit CrdReader(const json::Value& definitions) : definitions_(definitions) {}

  Result<TransformerConfig> Read() {
    for (const auto& [name, definition] : definitions_.as_object()) {
      const json::Value& properties = definition["Schema"]["properties"];
      if (properties.Find("kind") == nullptr || properties.Find("apiVersion") == nullptr ||
          properties.Find("metadata") == nullptr)
        continue;
      gvk_ = {"", "", name.substr(name.rfind('.') + 1)};
      visited_.clear();
      FLYBALL_TRY(ReadType(name, ""));
    }
    return std::move(config_);
  }

 private:
  Status ReadType(const std::string& name, const std::string& path) {
    const json::Value* definition = definitions_.Find(name);
    // A type that contains itself would never end.
    if (definition == nullptr || std::count(visited_.begin(), visited_.end(), name) > 0) return {};
    visited_.push_back(name);
    const json::Value& properties = (*definition)["Schema"]["properties"];
    if (properties.is_object())
      for (const auto& [key, property] : properties.as_object())
        FLYBALL_TRY(ReadProperty(property, path.empty() ? key : path + "/" + key));
    visited_.pop_back();
    return {};
  }

  Status ReadProperty(const json::Value& property, const std::string& path) {
    const auto marked = [&](const char* extension) { return property[extension].is_string(); };
    const FieldSpecs here{{gvk_, path, false}};
    if (marked("x-kubernetes-annotation")) FLYBALL_TRY(MergeFieldSpecs(config_.common_annotations, here));
    if (marked("x-kubernetes-label-selector")) FLYBALL_TRY(MergeFieldSpecs(config_.common_labels, here));
    if (marked("x-kubernetes-identity")) FLYBALL_TRY(MergeFieldSpecs(config_.name_prefix, here));
    if (marked("x-kubernetes-object-ref-api-version") && marked("x-kubernetes-object-ref-kind")) {
      const std::string key(property["x-kubernetes-object-ref-name-key"].string_or("name"));
      const Gvk target{"", ScalarText(property["x-kubernetes-object-ref-api-version"]),
                       ScalarText(property["x-kubernetes-object-ref-kind"])};
      FLYBALL_TRY(MergeReferences(config_.name_references, {{target, {{gvk_, path + "/" + key, false}}}}));
    }
    return property["$ref"].is_string() ? ReadType(ScalarText(property["$ref"]), path) : Status();
  }

  const json::Value& definitions_;
  TransformerConfig config_;
  Gvk gvk_;
  std::vector<std::string> visited_;
};

}  // namespace

Status TransformerConfig::Merge(const TransformerConfig& other) {
  for (const NamedSpecs& named : kNamedSpecs) {
    auto merged = MergeFieldSpecs(this->*named.specs, other.*named.specs);
    if (!merged) return Wrap("failed to merge " + std::string(named.name) + " fieldSpec", merged.error());
    SortSpecs(this->*named.specs);
  }
  auto merged = MergeReferences(name_references, other.name_references);
  if (!merged) return Wrap("failed to merge NameReference fieldSpec", merged.error());
  std::stable_sort(
      name_references.begin(), name_references.end(),
      [](const NameReference& a, const NameReference& b) { return ComesBefore(a.target, b.target); });
  return {};
}

Result<TransformerConfig> LoadConfigurations(const FolderLoader& loader,
                                             const std::vector<std::string>& paths) {
  TransformerConfig config = DefaultTransformerConfig();
  for (const std::string& path : paths) {
    FLYBALL_ASSIGN(const std::string text, loader.Read(path));
    FLYBALL_ASSIGN(const TransformerConfig added, ParseConfig(text));
    FLYBALL_TRY(config.Merge(added));
  }
  return config;
}

Result<TransformerConfig> LoadCrds(const FolderLoader& loader, const std::vector<std::string>& paths) {
  TransformerConfig config;
  for (const std::string& path : paths) {
    FLYBALL_ASSIGN(const std::string text, loader.Read(path));
    auto definitions = json::ParseYaml(text);
    if (!definitions || !definitions->is_object())
      return Fail("unable to parse open API definition from '" + path +
                  "': " + (definitions ? "not a map" : definitions.error().message()));
    FLYBALL_ASSIGN(const TransformerConfig added, CrdReader(*definitions).Read());
    FLYBALL_TRY(config.Merge(added));
  }
  return config;
}

}  // namespace flyball::cli::kustomize
