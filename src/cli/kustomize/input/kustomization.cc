#include "cli/kustomize/input/kustomization.h"

#include "cli/kustomize/input/kustomization_shape.h"
#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/resource/resource_text.h"
#include "json/yaml/yaml.h"

namespace flyball::cli::kustomize {
namespace {

// The values have been checked against the shape of a kustomization: these only convert.
std::string Text(const json::Value& object, const char* member) {
  return std::string(object[member].string_or(""));
}
bool Flag(const json::Value& object, const char* member) {
  return object[member].bool_or(false);
}

template <typename T, typename Read>
std::vector<T> ListOf(const json::Value& list, Read read) {
  std::vector<T> items;
  if (list.is_array())
    for (const json::Value& item : list.as_array()) items.push_back(read(item));
  return items;
}

std::vector<std::string> Texts(const json::Value& list) {
  return ListOf<std::string>(list, [](const json::Value& item) { return std::string(item.string_or("")); });
}

StringMap TextMap(const json::Value& map) {
  StringMap texts;
  if (map.is_object())
    for (const auto& [key, value] : map.as_object()) texts[key] = value.string_or("");
  return texts;
}

Gvk GvkFrom(const json::Value& object) {
  return {Text(object, "group"), Text(object, "version"), Text(object, "kind")};
}
ResourceId IdFrom(const json::Value& object) {
  return {GvkFrom(object), Text(object, "name"), Text(object, "namespace")};
}

Selector SelectorFrom(const json::Value& value) {
  return {IdFrom(value), Text(value, "labelSelector"), Text(value, "annotationSelector")};
}

LabelEntry LabelFrom(const json::Value& value) {
  return {TextMap(value["pairs"]), Flag(value, "includeSelectors"), Flag(value, "includeTemplates"),
          FieldSpecsFrom(value["fields"])};
}

ImageEntry ImageFrom(const json::Value& value) {
  return {Text(value, "name"), Text(value, "newName"), Text(value, "newTag"), Text(value, "digest"),
          Text(value, "tagSuffix")};
}

ReplicaEntry ReplicaFrom(const json::Value& value) {
  return {Text(value, "name"), value["count"].int_or(0)};
}

PatchEntry PatchFrom(const json::Value& value) {
  PatchEntry patch;
  patch.path = Text(value, "path");
  patch.patch = Text(value, "patch");
  if (value.Find("target") != nullptr) patch.target = SelectorFrom(value["target"]);
  patch.allow_name_change = Flag(value["options"], "allowNameChange");
  patch.allow_kind_change = Flag(value["options"], "allowKindChange");
  patch.source = value;
  return patch;
}

GeneratorOptions OptionsFrom(const json::Value& value, const json::Value& global) {
  GeneratorOptions options{TextMap(value["labels"]), TextMap(value["annotations"]),
                           Flag(value, "disableNameSuffixHash") || Flag(global, "disableNameSuffixHash"),
                           Flag(value, "immutable") || Flag(global, "immutable")};
  options.labels.merge(TextMap(global["labels"]));
  options.annotations.merge(TextMap(global["annotations"]));
  return options;
}

Behavior BehaviorFrom(const std::string& name) {
  if (name == "create") return Behavior::kCreate;
  if (name == "replace") return Behavior::kReplace;
  return name == "merge" ? Behavior::kMerge : Behavior::kUnspecified;
}

GeneratorEntry GeneratorFrom(const json::Value& value, const json::Value& options, bool secret) {
  GeneratorEntry entry;
  entry.secret = secret;
  entry.name = Text(value, "name");
  entry.ns = Text(value, "namespace");
  entry.type = Text(value, "type");
  entry.behavior = BehaviorFrom(Text(value, "behavior"));
  entry.literals = Texts(value["literals"]);
  entry.files = Texts(value["files"]);
  entry.envs = Texts(value["envs"]);
  if (const std::string env = Text(value, "env"); !env.empty()) entry.envs.push_back(env);
  entry.options = OptionsFrom(value["options"], options);
  return entry;
}

FieldOptions FieldOptionsFrom(const json::Value& value) {
  return {Text(value, "delimiter"), value["index"].int_or(0), Flag(value, "create")};
}

ReplacementTarget ReplacementTargetFrom(const json::Value& value) {
  ReplacementTarget target;
  if (value.Find("select") != nullptr) target.select = SelectorFrom(value["select"]);
  target.reject = ListOf<Selector>(value["reject"], SelectorFrom);
  target.field_paths = Texts(value["fieldPaths"]);
  target.options = FieldOptionsFrom(value["options"]);
  return target;
}

Replacement ReplacementFrom(const json::Value& value) {
  Replacement replacement;
  replacement.path = Text(value, "path");
  replacement.written = value;
  if (const json::Value* source = value.Find("source"))
    replacement.source = ReplacementSource{IdFrom(*source), Text(*source, "fieldPath"),
                                           FieldOptionsFrom((*source)["options"])};
  if (value.Find("sourceValue") != nullptr) replacement.source_value = Text(value, "sourceValue");
  replacement.targets = ListOf<ReplacementTarget>(value["targets"], ReplacementTargetFrom);
  return replacement;
}

Variable VariableFrom(const json::Value& value) {
  const json::Value& object = value["objref"];
  Variable variable{Text(value, "name"), IdFrom(object), Text(value["fieldref"], "fieldPath"), ""};
  variable.written = variable.ToString();
  if (const std::string api_version = Text(object, "apiVersion"); !api_version.empty())
    variable.object.gvk = GvkOf(api_version, variable.object.gvk.kind);
  if (variable.field_path.empty()) variable.field_path = "metadata.name";
  return variable;
}

std::optional<SortOptions> SortOptionsFrom(const json::Value& value) {
  if (!value.is_object()) return std::nullopt;
  const json::Value& legacy = value["legacySortOptions"];
  return SortOptions{Text(value, "order"), legacy.is_object(), Texts(legacy["orderFirst"]),
                     Texts(legacy["orderLast"])};
}

constexpr std::string_view kUnsupported[] = {
    "generators", "helmChartInflationGenerator", "helmCharts", "helmGlobals", "openapi", "transformers",
    "validators"};

struct Deprecated {
  std::string_view field, instead, fix;
};
constexpr Deprecated kDeprecated[] = {{"bases", "resources", ""},
                                      {"commonLabels", "labels", ""},
                                      {"imageTags", "images", ""},
                                      {"patchesJson6902", "patches", ""},
                                      {"patchesStrategicMerge", "patches", ""},
                                      {"vars", "replacements", "[EXPERIMENTAL] "}};

std::vector<std::string> WarningsFor(const json::Value& value) {
  std::vector<std::string> warnings;
  for (const auto& [field, instead, fix] : kDeprecated)
    if (value.Find(field) != nullptr)
      warnings.push_back("# Warning: '" + std::string(field) + "' is deprecated. Please use '" +
                         std::string(instead) + "' instead. " + std::string(fix) +
                         "Run 'kustomize edit fix' to update your Kustomization automatically.");
  return warnings;
}

void ReadLists(const json::Value& value, Kustomization& k) {
  k.resources = Texts(value["resources"]);
  for (std::string& base : Texts(value["bases"])) k.resources.push_back(std::move(base));
  k.components = Texts(value["components"]);
  k.crds = Texts(value["crds"]);
  k.configurations = Texts(value["configurations"]);
  k.build_metadata = Texts(value["buildMetadata"]);
  k.patches_strategic_merge = Texts(value["patchesStrategicMerge"]);
  k.patches = ListOf<PatchEntry>(value["patches"], PatchFrom);
  k.patches_json6902 = ListOf<PatchEntry>(value["patchesJson6902"], PatchFrom);
  k.images = ListOf<ImageEntry>(value["images"], ImageFrom);
  for (const ImageEntry& image : ListOf<ImageEntry>(value["imageTags"], ImageFrom)) k.images.push_back(image);
  k.replicas = ListOf<ReplicaEntry>(value["replicas"], ReplicaFrom);
  const json::Value& options = value["generatorOptions"];
  k.config_maps = ListOf<GeneratorEntry>(value["configMapGenerator"], [&](const json::Value& entry) {
    return GeneratorFrom(entry, options, false);
  });
  k.secrets = ListOf<GeneratorEntry>(value["secretGenerator"], [&](const json::Value& entry) {
    return GeneratorFrom(entry, options, true);
  });
  k.replacements = ListOf<Replacement>(value["replacements"], ReplacementFrom);
  k.vars = ListOf<Variable>(value["vars"], VariableFrom);
}

Kustomization KustomizationFrom(const json::Value& value) {
  Kustomization k;
  k.api_version = Text(value, "apiVersion");
  k.kind = Text(value, "kind");
  if (k.kind.empty()) k.kind = "Kustomization";
  k.name_prefix = Text(value, "namePrefix");
  k.name_suffix = Text(value, "nameSuffix");
  k.ns = Text(value, "namespace");
  k.common_labels = TextMap(value["commonLabels"]);
  k.common_annotations = TextMap(value["commonAnnotations"]);
  k.labels = ListOf<LabelEntry>(value["labels"], LabelFrom);
  k.sort_options = SortOptionsFrom(value["sortOptions"]);
  ReadLists(value, k);
  for (const std::string_view field : kUnsupported)
    if (!value[field].empty()) k.unsupported.emplace_back(field);
  k.warnings = WarningsFor(value);
  return k;
}

Status CheckKind(const Kustomization& k, const std::string& folder) {
  std::string problems;
  if (k.kind != "Kustomization" && !k.is_component())
    problems += "\nkind should be Kustomization or Component";
  const std::string version =
      std::string("kustomize.config.k8s.io/") + (k.is_component() ? "v1alpha1" : "v1beta1");
  if (!k.api_version.empty() && k.api_version != version)
    problems += "\napiVersion for " + k.kind + " should be " + version;
  if (problems.empty()) return {};
  return Fail("Failed to read kustomization file under " + folder + ":" + problems);
}

bool SaysNothing(const json::Value& value) {
  if (value.is_object())
    for (const auto& [key, member] : value.as_object())
      if (key != "kind" && key != "apiVersion") return false;
  return true;
}

}  // namespace

FieldSpecs FieldSpecsFrom(const json::Value& list) {
  return ListOf<FieldSpec>(list, [](const json::Value& item) {
    return FieldSpec{GvkFrom(item), Text(item, "path"), Flag(item, "create")};
  });
}

std::string Variable::ToString() const {
  return "{" + name + " " + object.gvk.ToString() + " {" + field_path + "}}";
}

std::string ReplacementSource::ToString() const {
  std::string text = id.ToString();
  if (!field_path.empty()) text += ":" + field_path;
  if (!options.delimiter.empty() || options.create)
    text += ":" + options.delimiter + "(" + std::to_string(options.index) +
            "), create=" + (options.create ? "true" : "false");
  return text;
}

Result<Kustomization> ParseKustomization(std::string_view text, const std::string& folder) {
  auto parsed = json::ParseYaml(text);
  if (!parsed) return Fail("invalid Kustomization: " + YamlProblem(parsed.error()));
  auto value = Conform(*parsed, kKustomizationShape);
  if (!value) return Wrap("invalid Kustomization", value.error());
  if (SaysNothing(*value)) return Fail("kustomization.yaml is empty");
  Kustomization kustomization = KustomizationFrom(*value);
  FLYBALL_TRY(CheckKind(kustomization, folder));
  return kustomization;
}

Result<std::vector<Replacement>> ParseReplacements(std::string_view text) {
  auto parsed = json::ParseYaml(text);
  if (!parsed) return Fail(YamlProblem(parsed.error()));
  if (!parsed->is_array() && !parsed->is_object())
    return Fail("unsupported replacement type encountered within replacement path: " +
                std::string(json::GoKindName(*parsed)));
  json::Array entries = parsed->is_array() ? parsed->as_array() : json::Array{*parsed};
  std::vector<Replacement> replacements;
  for (const json::Value& entry : entries) {
    FLYBALL_ASSIGN(const json::Value value, Conform(entry, kReplacementShape));
    replacements.push_back(ReplacementFrom(value));
  }
  return replacements;
}

}  // namespace flyball::cli::kustomize
