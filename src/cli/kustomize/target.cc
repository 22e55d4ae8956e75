#include "cli/kustomize/target.h"

#include <algorithm>
#include <filesystem>

#include "api/values/go_text.h"
#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/resource/resource_text.h"
#include "cli/kustomize/transform/finishing.h"
#include "cli/kustomize/transform/generator.h"

namespace flyball::cli::kustomize {
namespace {

struct KustomizationFile {
  std::string name, text;
};

Result<KustomizationFile> FindFile(const FolderLoader& loader) {
  std::optional<KustomizationFile> file;
  for (const char* name : {"kustomization.yaml", "kustomization.yml", "Kustomization"}) {
    auto text = loader.Read(name);
    if (!text) continue;
    if (file) return Fail("Found multiple kustomization files under: " + loader.root() + "\n");
    file = KustomizationFile{name, std::move(*text)};
  }
  if (file) return std::move(*file);
  return Fail(
      "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '" +
      loader.root() + "'");
}

Result<ResourceList::Items> ReadResources(const FolderLoader& loader, const std::string& path) {
  FLYBALL_ASSIGN(const std::string text, loader.Read(path));
  auto resources = ParseResources(text);
  if (resources || !resources.error().message().starts_with("MalformedYAMLError")) return resources;
  return Fail(resources.error().message() + " in File: " + path);
}

bool IsMalformed(const Error& error) {
  return error.message().find("MalformedYAMLError") != std::string::npos;
}

template <typename Entry, typename Make>
Status AddEach(std::vector<Transformer>& all, const std::vector<Entry>& entries, Make make) {
  for (const Entry& entry : entries) {
    FLYBALL_ASSIGN(Transformer transformer, make(entry));
    all.push_back(std::move(transformer));
  }
  return {};
}

}  // namespace

Status Accumulation::Add(Accumulation other) {
  FLYBALL_TRY(resources.AppendAll(std::move(other.resources)));
  FLYBALL_TRY(config.Merge(other.config));
  return AddVariables(other.variables);
}

Status Accumulation::AddVariables(const std::vector<Variable>& more) {
  for (const Variable& variable : more) {
    const bool known = std::any_of(variables.begin(), variables.end(),
                                   [&](const Variable& other) { return other.name == variable.name; });
    if (known) return Fail("var '" + variable.name + "' already encountered");
    variables.push_back(variable);
  }
  return {};
}

Result<Target> Target::Load(const FolderLoader& loader, std::ostream& warnings) {
  Target target(loader, warnings);
  FLYBALL_ASSIGN(const KustomizationFile file, FindFile(loader));
  target.file_name_ = file.name;
  FLYBALL_ASSIGN(target.kustomization_, ParseKustomization(file.text, loader.root()));
  for (const std::string& warning : target.kustomization_.warnings) warnings << warning << "\n";
  if (!target.kustomization_.unsupported.empty())
    return Fail("the field '" + target.kustomization_.unsupported[0] + "' of " + loader.root() + "/" +
                file.name + " is not supported");
  return target;
}

Result<Accumulation> Target::Accumulate(Accumulation all) const {
  if (auto added = AddResources(all); !added) return Wrap("accumulating resources", added.error());
  FLYBALL_TRY(AddConfiguration(all));
  FLYBALL_TRY(RunGenerators(all));
  if (auto added = AddComponents(all); !added) return Wrap("accumulating components", added.error());
  FLYBALL_TRY(RunTransformers(all));
  FLYBALL_TRY(AddVariables(all));
  return all;
}

Status Target::AddVariables(Accumulation& all) const {
  const std::vector<Variable>& vars = kustomization_.vars;
  auto added = BindVariables(all.resources, vars);
  if (added) added = all.AddVariables(vars);
  if (added) return {};
  std::string written;
  for (const Variable& variable : vars) written += (written.empty() ? "" : " ") + variable.written;
  return Wrap("merging vars [" + written + "]", added.error());
}

// A resource is a file or, failing that, the folder of another kustomization.
Status Target::AddResources(Accumulation& all) const {
  for (const std::string& path : kustomization_.resources) {
    auto file = AddFile(all, path);
    if (file) continue;
    auto loader = loader_->Enter(path);
    if (!loader && IsMalformed(file.error())) return file;
    const std::string context = "accumulation err='" + file.error().message() + "'";
    if (!loader) return Wrap(context, loader.error());
    if (auto folder = AddFolder(all, *loader, path, false); !folder) return Wrap(context, folder.error());
  }
  return {};
}

Status Target::AddFile(Accumulation& all, const std::string& path) const {
  auto resources = ReadResources(*loader_, path);
  if (!resources) return Wrap("accumulating resources from '" + path + "'", resources.error());
  for (auto& resource : *resources) {
    if (origin_path_) resource->origin = Origin{PathOf(path), "", ""};
    if (auto added = all.resources.Append(std::move(resource)); !added)
      return Wrap("merging resources from '" + path + "'", added.error());
  }
  return {};
}

Status Target::AddFolder(Accumulation& all, const FolderLoader& loader, const std::string& path,
                         bool is_component) const {
  auto loaded = Load(loader, *warnings_);
  if (!loaded) return Wrap("couldn't make target for path '" + loader.root() + "'", loaded.error());
  Target& target = *loaded;
  if (origin_path_) target.TrackOrigins(PathOf(path));
  if (is_component && !target.kustomization_.is_component())
    return Fail("expected kind 'Component' for path '" + loader.root() + "' but got '" +
                target.kustomization_.kind + "'");
  if (!is_component && target.kustomization_.is_component())
    return Fail("expected kind != 'Component' for path '" + loader.root() + "'");
  Accumulation start;
  if (is_component) start = std::exchange(all, {});
  auto added = target.Accumulate(std::move(start));
  if (!added) return Wrap("recursed accumulation of path '" + loader.root() + "'", added.error());
  if (auto merged = all.Add(std::move(*added)); !merged)
    return Wrap("recursed merging from path '" + loader.root() + "'", merged.error());
  return {};
}

Status Target::AddComponents(Accumulation& all) const {
  for (const std::string& path : kustomization_.components) {
    auto loader = loader_->Enter(path);
    if (!loader) return Fail("loader.New " + api::GoQuote(loader.error().message()));
    if (auto added = AddFolder(all, *loader, path, true); !added)
      return Fail("accumulateDirectory: " + api::GoQuote(added.error().message()));
  }
  return {};
}

Status Target::AddConfiguration(Accumulation& all) const {
  FLYBALL_ASSIGN(const TransformerConfig config, LoadConfigurations(*loader_, kustomization_.configurations));
  if (auto merged = all.config.Merge(config); !merged) return Wrap("merging config", merged.error());
  auto crds = LoadCrds(*loader_, kustomization_.crds);
  if (!crds) return Wrap("loading CRDs", crds.error());
  if (auto merged = all.config.Merge(*crds); !merged) return Wrap("merging CRDs", merged.error());
  return {};
}

Status Target::RunGenerators(Accumulation& all) const {
  for (const auto* entries : {&kustomization_.config_maps, &kustomization_.secrets}) {
    for (const GeneratorEntry& entry : *entries) {
      FLYBALL_ASSIGN(auto resource, Generate(entry, *loader_));
      if (origin_path_)
        resource->origin =
            Origin{"", PathOf(file_name_), entry.secret ? "SecretGenerator" : "ConfigMapGenerator"};
      if (auto absorbed = all.resources.Absorb(std::move(resource)); !absorbed)
        return Wrap("merging from generator", absorbed.error());
    }
  }
  return {};
}

// In the order in which kustomize applies them, whatever that of the fields is.
Result<std::vector<Transformer>> Target::Transformers(const TransformerConfig& config) const {
  const Kustomization& k = kustomization_;
  std::vector<Transformer> all;
  if (!k.patches_strategic_merge.empty()) {
    FLYBALL_ASSIGN(Transformer merges, StrategicMergeTransformer(k.patches_strategic_merge, *loader_));
    all.push_back(std::move(merges));
  }
  FLYBALL_TRY(AddEach(all, k.patches, [&](const PatchEntry& p) { return PatchTransformer(p, *loader_); }));
  if (!k.ns.empty()) all.push_back(NamespaceTransformer(k.ns, config.ns));
  if (!k.name_prefix.empty()) all.push_back(PrefixTransformer(k.name_prefix, config.name_prefix));
  if (!k.name_suffix.empty()) all.push_back(SuffixTransformer(k.name_suffix, config.name_suffix));
  FLYBALL_ASSIGN(auto labels, LabelTransformers(k, config));
  for (Transformer& label : labels) all.push_back(std::move(label));
  if (!k.common_annotations.empty())
    all.push_back(AnnotationsTransformer(k.common_annotations, config.common_annotations));
  FLYBALL_TRY(AddEach(all, k.patches_json6902,
                      [&](const PatchEntry& p) { return JsonPatchTransformer(p, *loader_); }));
  for (const ReplicaEntry& replica : k.replicas) all.push_back(ReplicaTransformer(replica, config.replicas));
  for (const ImageEntry& image : k.images) all.push_back(ImageTransformer(image, config.images));
  if (!k.replacements.empty()) {
    FLYBALL_ASSIGN(Transformer replacements, ReplacementTransformer(k.replacements, *loader_));
    all.push_back(std::move(replacements));
  }
  return all;
}

Status Target::RunTransformers(Accumulation& all) const {
  FLYBALL_ASSIGN(const auto transformers, Transformers(all.config));
  for (const Transformer& transformer : transformers) {
    FLYBALL_TRY(transformer.run(all.resources));
    if (origin_path_)
      for (const auto& resource : all.resources.items())
        resource->changes.push_back({"", PathOf(file_name_), transformer.name});
    all.resources.DropEmpty();
  }
  return {};
}

std::string Target::PathOf(const std::string& name) const {
  return (std::filesystem::path(origin_path_.value_or("")) / name).lexically_normal().string();
}

}  // namespace flyball::cli::kustomize
