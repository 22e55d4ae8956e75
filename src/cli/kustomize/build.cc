#include "cli/kustomize/build.h"

#include <algorithm>

#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/target.h"
#include "cli/kustomize/transform/finishing.h"
#include "cli/kustomize/transform/generator.h"

namespace flyball::cli::kustomize {
namespace {

// The version whose results these are.
const std::string kManagedBy = std::string("kustomize-") + kKustomizeVersion;

bool Asks(const Kustomization& kustomization, std::string_view what) {
  const auto& asked = kustomization.build_metadata;
  return std::find(asked.begin(), asked.end(), what) != asked.end();
}

// Objects that are there only for kustomize itself.
void DropLocal(ResourceList& resources) {
  std::erase_if(resources.items(), [](const auto& resource) {
    const json::Value& metadata = std::as_const(resource->object)["metadata"];
    const json::Value* local = metadata["annotations"].Find("config.kubernetes.io/local-config");
    return local != nullptr && ScalarText(*local) != "false";
  });
}

Status Finish(Accumulation& all, const Kustomization& kustomization, const BuildOptions& options,
              std::ostream& warnings) {
  AddHashes(all.resources);
  FLYBALL_TRY(FixNameReferences(all.resources, all.config.name_references));
  std::vector<std::string> lines;
  FLYBALL_TRY(ResolveVariables(all.resources, all.variables, all.config.var_reference, lines));
  for (const std::string& line : lines) warnings << line << "\n";
  DropLocal(all.resources);
  if (kustomization.sort_options || !options.keep_order)
    FLYBALL_TRY(SortResources(all.resources, kustomization.sort_options));
  if (Asks(kustomization, "managedByLabel"))
    FLYBALL_TRY(
        LabelTransformer({{"app.kubernetes.io/managed-by", kManagedBy}}, {{{}, "metadata/labels", true}})
            .run(all.resources));
  for (const auto& resource : all.resources.items())
    FinishAnnotations(*resource, Asks(kustomization, "originAnnotations"),
                      Asks(kustomization, "transformerAnnotations"));
  return {};
}

}  // namespace

Result<ResourceList> BuildKustomization(const std::string& folder, const BuildOptions& options,
                                        std::ostream& warnings) {
  FLYBALL_ASSIGN(const FolderLoader loader, FolderLoader::Open(folder, options.files_anywhere));
  FLYBALL_ASSIGN(Target target, Target::Load(loader, warnings));
  if (!target.kustomization().build_metadata.empty()) target.TrackOrigins("");
  FLYBALL_ASSIGN(Accumulation all, target.Accumulate({}));
  FLYBALL_TRY(Finish(all, target.kustomization(), options, warnings));
  return std::move(all.resources);
}

}  // namespace flyball::cli::kustomize
