#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/resource/node_merge.h"
#include "cli/kustomize/resource/resource_text.h"
#include "cli/kustomize/transform/transformer.h"
#include "json/json.h"
#include "json/patch.h"
#include "json/yaml/yaml.h"

namespace flyball::cli::kustomize {
namespace {

using Patches = std::shared_ptr<const ResourceList::Items>;

// The operations of a JSON patch, in JSON or YAML. Fails if it is something else.
Result<json::Value> ParseOperations(const std::string& text) {
  auto patch = text.starts_with('[') ? json::Parse(text) : json::ParseYaml(text);
  if (!patch) return Fail(YamlProblem(patch.error()));
  if (!patch->is_array())
    return Fail("json: cannot unmarshal " + std::string(json::GoKindName(*patch)) +
                " into Go value of type jsonpatch.Patch");
  for (const json::Value& operation : patch->as_array())
    if (!operation.is_object())
      return Fail("json: cannot unmarshal " + std::string(json::GoKindName(operation)) +
                  " into Go value of type jsonpatch.Operation");
  return std::move(*patch);
}

// What the object is stays as it was, unless the patch may change it.
Status ApplyMerge(Resource& resource, const Resource& patch, json::Value content) {
  const std::string name = resource.name(), ns = resource.ns(), kind = resource.kind();
  if (patch.allow_name_change || patch.allow_kind_change) resource.Remember();
  FLYBALL_ASSIGN(const bool remains, MergePatch(resource.object, std::move(content)));
  if (!remains) resource.object = json::Object();
  if (resource.empty()) return {};
  if (!patch.allow_kind_change) resource.object["kind"] = kind;
  if (!patch.allow_name_change) resource.SetName(name);
  resource.SetNamespace(ns);
  return {};
}

// A patch with a target need not name the right version.
Status ApplyMergeToTarget(Resource& resource, const Resource& patch) {
  json::Value content = patch.object;
  content["apiVersion"] = resource.gvk().ApiVersion();
  return ApplyMerge(resource, patch, std::move(content));
}

// A patch may have given two objects the same name.
Status CheckUnique(ResourceList& resources) {
  ResourceList checked;
  resources.DropEmpty();
  for (const auto& resource : resources.items()) {
    auto copy = std::make_unique<Resource>();
    for (const char* member : {"apiVersion", "kind", "metadata"})
      copy->object[member] = std::as_const(resource->object)[member];
    FLYBALL_TRY(checked.Append(std::move(copy)));
  }
  return {};
}

Status ApplyOperations(Resource& resource, const json::Value& operations) {
  auto patched = json::ApplyJsonPatch(resource.object, operations);
  if (!patched) return Fail(patched.error().message());
  resource.object = std::move(*patched);
  return {};
}

// kustomize keeps its notes in annotations, so that there are some to add to even if the object has none.
void ShowAnnotations(Resource& resource) {
  const bool noted = !resource.former.empty() || resource.needs_hash || resource.origin.has_value();
  if (noted) MetadataMap(resource.object, "annotations");
}

// `patches`, one entry.
class PatchRun {
 public:
  static Result<std::shared_ptr<PatchRun>> Create(const PatchEntry& entry, const FolderLoader& loader) {
    auto run = std::make_shared<PatchRun>();
    run->target_ = entry.target;
    FLYBALL_TRY(run->ReadText(entry, loader));
    auto merges = ParseResources(run->text_);
    auto operations = ParseOperations(run->text_);
    if (!merges && !operations) return Fail("unable to parse SM or JSON patch from " + run->source_);
    if (!merges) {
      run->operations_ = std::move(*operations);
      return run;
    }
    for (const auto& patch : *merges) {
      patch->allow_name_change = entry.allow_name_change;
      patch->allow_kind_change = entry.allow_kind_change;
    }
    run->merges_ = std::move(*merges);
    return run;
  }

  Status Run(ResourceList& resources) const {
    if (!operations_.is_null()) return RunOperations(resources);
    return target_ && !merges_.empty() ? RunMergeOnTarget(resources) : RunMerges(resources);
  }

 private:
  Status ReadText(const PatchEntry& entry, const FolderLoader& loader) {
    text_ = TrimText(entry.patch);
    if (text_.empty() && entry.path.empty())
      return Fail("must specify one of patch and path in\n" + json::WriteYaml(entry.source));
    if (!text_.empty() && !entry.path.empty())
      return Fail("patch and path can't be set at the same time\n" + json::WriteYaml(entry.source));
    source_ = "[patch: " + api::GoQuote(text_) + "]";
    if (entry.path.empty()) return {};
    auto content = loader.Read(entry.path);
    if (!content) return Wrap("failed to get the patch file from path(" + entry.path + ")", content.error());
    text_ = std::move(*content);
    source_ = "[path: " + api::GoQuote(entry.path) + "]";
    return {};
  }

  static std::string TrimText(const std::string& text) {
    const std::size_t first = text.find_first_not_of(kWhiteSpace);
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
  }

  Status RunMerges(ResourceList& resources) const {
    for (const auto& patch : merges_) {
      const ResourceId id = patch->OriginalId();
      auto found = resources.FindById(id);
      if (!found)
        return Wrap("no resource matches strategic merge patch " + api::GoQuote(id.ToString()),
                    found.error());
      FLYBALL_TRY(ApplyMerge(**found, *patch, patch->object));
    }
    return {};
  }

  Status RunMergeOnTarget(ResourceList& resources) const {
    if (merges_.size() > 1)
      return Fail(
          "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` "
          "field: " +
          source_);
    FLYBALL_ASSIGN(const auto selected, resources.Select(*target_));
    for (Resource* resource : selected) FLYBALL_TRY(ApplyMergeToTarget(*resource, *merges_[0]));
    return CheckUnique(resources);
  }

  Status RunOperations(ResourceList& resources) const {
    if (!target_) return Fail("must specify a target for JSON patch " + source_);
    FLYBALL_ASSIGN(const auto selected, resources.Select(*target_));
    for (Resource* resource : selected) {
      resource->Remember();
      ShowAnnotations(*resource);
      FLYBALL_TRY(ApplyOperations(*resource, operations_));
    }
    return {};
  }

  std::optional<Selector> target_;
  std::string text_, source_;
  ResourceList::Items merges_;
  json::Value operations_;
};

// The text of an entry of patchesStrategicMerge is the patch itself, or the name of a file.
Result<ResourceList::Items> ReadMergePatch(const std::string& entry, const FolderLoader& loader) {
  if (auto inline_patches = ParseResources(entry)) return inline_patches;
  FLYBALL_ASSIGN(const std::string content, loader.Read(entry));
  auto patches = ParseResources(content);
  if (patches || !patches.error().message().starts_with("MalformedYAMLError")) return patches;
  return Fail(patches.error().message() + " in File: " + entry);
}

Result<json::Value> ReadOperations(const PatchEntry& entry, const FolderLoader& loader) {
  if (!entry.target || entry.target->id.name.empty()) return Fail("must specify the target name");
  if (entry.path.empty() && entry.patch.empty()) return Fail("empty file path and empty jsonOp");
  if (!entry.path.empty() && !entry.patch.empty())
    return Fail("must specify a file path or jsonOp, not both");
  std::string text = entry.patch;
  if (!entry.path.empty()) {
    FLYBALL_ASSIGN(text, loader.Read(entry.path));
  }
  if (text.empty()) return Fail("patch file '" + entry.path + "' empty seems to be empty");
  auto operations = ParseOperations(text);
  if (!operations) return Wrap("decoding " + text, operations.error());
  if (operations->empty()) return Fail("patch appears to be empty; file=" + entry.path + ", JsonOp=" + text);
  return operations;
}

json::Value JsonPatchConfig(const PatchEntry& entry) {
  json::Value config;
  if (!entry.patch.empty()) config["jsonOp"] = entry.patch;
  if (!entry.path.empty()) config["path"] = entry.path;
  if (entry.target) config["target"] = entry.source["target"];
  return config;
}

}  // namespace

Unexpected ConfigFailure(const char* name, const json::Value& config, const std::string& problem) {
  return Fail("trouble configuring builtin " + std::string(name) + " with config: `\n" +
              json::WriteYaml(config) + "`: " + problem);
}

Result<Transformer> PatchTransformer(const PatchEntry& patch, const FolderLoader& loader) {
  auto run = PatchRun::Create(patch, loader);
  if (!run) return ConfigFailure("PatchTransformer", patch.source, run.error().message());
  return Transformer{"PatchTransformer",
                     [run = *run](ResourceList& resources) { return run->Run(resources); }};
}

Result<Transformer> StrategicMergeTransformer(const std::vector<std::string>& entries,
                                              const FolderLoader& loader) {
  constexpr const char* kName = "PatchStrategicMergeTransformer";
  json::Value config;
  config["paths"] = json::Array(entries.begin(), entries.end());
  auto patches = std::make_shared<ResourceList::Items>();
  for (const std::string& entry : entries) {
    auto read = ReadMergePatch(entry, loader);
    if (!read) return ConfigFailure(kName, config, read.error().message());
    for (auto& patch : *read) patches->push_back(std::move(patch));
  }
  if (patches->empty()) return ConfigFailure(kName, config, "patch appears to be empty; files=, Patch=");
  return Transformer{kName, [patches = Patches(patches)](ResourceList& resources) -> Status {
                       for (const auto& patch : *patches) {
                         FLYBALL_ASSIGN(Resource * target, resources.FindById(patch->OriginalId()));
                         FLYBALL_TRY(ApplyMergeToTarget(*target, *patch));
                         FLYBALL_TRY(CheckUnique(resources));
                       }
                       return {};
                     }};
}

Result<Transformer> JsonPatchTransformer(const PatchEntry& entry, const FolderLoader& loader) {
  auto operations = ReadOperations(entry, loader);
  if (!operations)
    return ConfigFailure("PatchJson6902Transformer", JsonPatchConfig(entry), operations.error().message());
  return Transformer{
      "PatchJson6902Transformer",
      [target = *entry.target, operations = std::move(*operations)](ResourceList& resources) -> Status {
        FLYBALL_ASSIGN(const auto selected, resources.Select(target));
        for (Resource* resource : selected) {
          ShowAnnotations(*resource);
          FLYBALL_TRY(ApplyOperations(*resource, operations));
        }
        return {};
      }};
}

}  // namespace flyball::cli::kustomize
