#include "cli/kustomize/input/kustomization_shape.h"

namespace flyball::cli::kustomize {
namespace {

using Kind = GoShape::Kind;

constexpr GoShape kText{Kind::kString, "string"};
constexpr GoShape kFlag{Kind::kBool, "bool"};
constexpr GoShape kNumber{Kind::kInt, "int"};
constexpr GoShape kCount{Kind::kInt, "int64"};
constexpr GoShape kTexts{Kind::kList, "[]string", &kText};
constexpr GoShape kTextMap{Kind::kMap, "map[string]string", &kText};

constexpr GoField kObjectMetaFields[] = {
    {"name", &kText}, {"namespace", &kText}, {"labels", &kTextMap}, {"annotations", &kTextMap}};
constexpr GoShape kObjectMeta{Kind::kStruct, "types.ObjectMeta", nullptr, kObjectMetaFields};

constexpr GoField kFieldSpecFields[] = {{"group", &kText, "Gvk."},
                                        {"version", &kText, "Gvk."},
                                        {"kind", &kText, "Gvk."},
                                        {"path", &kText},
                                        {"create", &kFlag}};
constexpr GoShape kFieldSpec{Kind::kStruct, "types.FieldSpec", nullptr, kFieldSpecFields};
constexpr GoShape kFieldSpecList{Kind::kList, "[]types.FieldSpec", &kFieldSpec};

constexpr GoField kLabelFields[] = {{"pairs", &kTextMap},
                                    {"includeSelectors", &kFlag},
                                    {"includeTemplates", &kFlag},
                                    {"fields", &kFieldSpecList}};
constexpr GoShape kLabel{Kind::kStruct, "types.Label", nullptr, kLabelFields};
constexpr GoShape kLabels{Kind::kList, "[]types.Label", &kLabel};

constexpr GoField kSelectorFields[] = {{"group", &kText, "ResId.Gvk."}, {"version", &kText, "ResId.Gvk."},
                                       {"kind", &kText, "ResId.Gvk."},  {"name", &kText, "ResId."},
                                       {"namespace", &kText, "ResId."}, {"annotationSelector", &kText},
                                       {"labelSelector", &kText}};
constexpr GoShape kSelector{Kind::kStruct, "types.Selector", nullptr, kSelectorFields};
constexpr GoShape kSelectors{Kind::kList, "[]*types.Selector", &kSelector};

constexpr GoField kPatchArgsFields[] = {{"allowNameChange", &kFlag}, {"allowKindChange", &kFlag}};
constexpr GoShape kPatchArgs{Kind::kStruct, "types.PatchArgs", nullptr, kPatchArgsFields};
constexpr GoField kPatchFields[] = {
    {"path", &kText}, {"patch", &kText}, {"target", &kSelector}, {"options", &kPatchArgs}};
constexpr GoShape kPatch{Kind::kStruct, "types.Patch", nullptr, kPatchFields};
constexpr GoShape kPatches{Kind::kList, "[]types.Patch", &kPatch};
constexpr GoShape kMergePatch{Kind::kString, "types.PatchStrategicMerge"};
constexpr GoShape kMergePatches{Kind::kList, "[]types.PatchStrategicMerge", &kMergePatch};

constexpr GoField kImageFields[] = {
    {"name", &kText}, {"newName", &kText}, {"tagSuffix", &kText}, {"newTag", &kText}, {"digest", &kText}};
constexpr GoShape kImage{Kind::kStruct, "types.Image", nullptr, kImageFields};
constexpr GoShape kImages{Kind::kList, "[]types.Image", &kImage};

constexpr GoField kReplicaFields[] = {{"name", &kText}, {"count", &kCount}};
constexpr GoShape kReplica{Kind::kStruct, "types.Replica", nullptr, kReplicaFields};
constexpr GoShape kReplicas{Kind::kList, "[]types.Replica", &kReplica};

constexpr GoField kOptionsFields[] = {{"labels", &kTextMap},
                                      {"annotations", &kTextMap},
                                      {"disableNameSuffixHash", &kFlag},
                                      {"immutable", &kFlag}};
constexpr GoShape kOptions{Kind::kStruct, "types.GeneratorOptions", nullptr, kOptionsFields};

constexpr std::string_view kArgs = "GeneratorArgs.", kSources = "GeneratorArgs.KvPairSources.";
constexpr GoField kConfigMapFields[] = {{"namespace", &kText, kArgs}, {"name", &kText, kArgs},
                                        {"behavior", &kText, kArgs},  {"literals", &kTexts, kSources},
                                        {"files", &kTexts, kSources}, {"envs", &kTexts, kSources},
                                        {"env", &kText, kSources},    {"options", &kOptions, kArgs}};
constexpr GoShape kConfigMap{Kind::kStruct, "types.ConfigMapArgs", nullptr, kConfigMapFields};
constexpr GoShape kConfigMaps{Kind::kList, "[]types.ConfigMapArgs", &kConfigMap};
constexpr GoField kSecretFields[] = {
    {"namespace", &kText, kArgs},    {"name", &kText, kArgs},       {"behavior", &kText, kArgs},
    {"literals", &kTexts, kSources}, {"files", &kTexts, kSources},  {"envs", &kTexts, kSources},
    {"env", &kText, kSources},       {"options", &kOptions, kArgs}, {"type", &kText}};
constexpr GoShape kSecret{Kind::kStruct, "types.SecretArgs", nullptr, kSecretFields};
constexpr GoShape kSecrets{Kind::kList, "[]types.SecretArgs", &kSecret};

constexpr GoField kFieldOptionsFields[] = {
    {"delimiter", &kText}, {"index", &kNumber}, {"encoding", &kText}, {"create", &kFlag}};
constexpr GoShape kFieldOptions{Kind::kStruct, "types.FieldOptions", nullptr, kFieldOptionsFields};
constexpr GoField kSourceFields[] = {{"group", &kText, "ResId.Gvk."}, {"version", &kText, "ResId.Gvk."},
                                     {"kind", &kText, "ResId.Gvk."},  {"name", &kText, "ResId."},
                                     {"namespace", &kText, "ResId."}, {"fieldPath", &kText},
                                     {"options", &kFieldOptions}};
constexpr GoShape kSource{Kind::kStruct, "types.SourceSelector", nullptr, kSourceFields};
constexpr GoField kTargetFields[] = {
    {"select", &kSelector}, {"reject", &kSelectors}, {"fieldPaths", &kTexts}, {"options", &kFieldOptions}};
constexpr GoShape kTarget{Kind::kStruct, "types.TargetSelector", nullptr, kTargetFields};
constexpr GoShape kTargets{Kind::kList, "[]*types.TargetSelector", &kTarget};
constexpr GoField kReplacementFields[] = {
    {"source", &kSource}, {"targets", &kTargets}, {"sourceValue", &kText}};
constexpr GoField kReplacementEntryFields[] = {{"source", &kSource, "Replacement."},
                                               {"targets", &kTargets, "Replacement."},
                                               {"sourceValue", &kText, "Replacement."},
                                               {"path", &kText}};
constexpr GoShape kReplacementEntry{Kind::kStruct, "types.ReplacementField", nullptr,
                                    kReplacementEntryFields};
constexpr GoShape kReplacements{Kind::kList, "[]types.ReplacementField", &kReplacementEntry};

constexpr GoField kObjectRefFields[] = {
    {"apiVersion", &kText},   {"group", &kText, "Gvk."}, {"version", &kText, "Gvk."},
    {"kind", &kText, "Gvk."}, {"name", &kText},          {"namespace", &kText}};
constexpr GoShape kObjectRef{Kind::kStruct, "types.Target", nullptr, kObjectRefFields};
constexpr GoField kFieldRefFields[] = {{"fieldPath", &kText}};
constexpr GoShape kFieldRef{Kind::kStruct, "types.FieldSelector", nullptr, kFieldRefFields};
constexpr GoField kVarFields[] = {{"name", &kText}, {"objref", &kObjectRef}, {"fieldref", &kFieldRef}};
constexpr GoShape kVar{Kind::kStruct, "types.Var", nullptr, kVarFields};
constexpr GoShape kVars{Kind::kList, "[]types.Var", &kVar};

constexpr GoField kLegacySortFields[] = {{"orderFirst", &kTexts}, {"orderLast", &kTexts}};
constexpr GoShape kLegacySort{Kind::kStruct, "types.LegacySortOptions", nullptr, kLegacySortFields};
constexpr GoField kSortFields[] = {{"order", &kText}, {"legacySortOptions", &kLegacySort}};
constexpr GoShape kSort{Kind::kStruct, "types.SortOptions", nullptr, kSortFields};

// What is refused whatever it says: the shape matters no further.
constexpr GoShape kRefused{Kind::kList, "[]types.HelmChart", nullptr};

constexpr GoField kKustomizationFields[] = {
    {"kind", &kText, "TypeMeta."},
    {"apiVersion", &kText, "TypeMeta."},
    {"metadata", &kObjectMeta},
    {"openapi", &kTextMap},
    {"namePrefix", &kText},
    {"nameSuffix", &kText},
    {"namespace", &kText},
    {"commonLabels", &kTextMap},
    {"labels", &kLabels},
    {"commonAnnotations", &kTextMap},
    {"patchesStrategicMerge", &kMergePatches},
    {"patchesJson6902", &kPatches},
    {"patches", &kPatches},
    {"images", &kImages},
    {"imageTags", &kImages},
    {"replacements", &kReplacements},
    {"replicas", &kReplicas},
    {"vars", &kVars},
    {"sortOptions", &kSort},
    {"resources", &kTexts},
    {"components", &kTexts},
    {"crds", &kTexts},
    {"bases", &kTexts},
    {"configMapGenerator", &kConfigMaps},
    {"secretGenerator", &kSecrets},
    {"helmGlobals", &kTextMap},
    {"helmCharts", &kRefused},
    {"helmChartInflationGenerator", &kRefused},
    {"generatorOptions", &kOptions},
    {"configurations", &kTexts},
    {"generators", &kTexts},
    {"transformers", &kTexts},
    {"validators", &kTexts},
    {"buildMetadata", &kTexts},
};

constexpr GoField kNameReferenceFields[] = {{"group", &kText, "Gvk."},
                                            {"version", &kText, "Gvk."},
                                            {"kind", &kText, "Gvk."},
                                            {"fieldSpecs", &kFieldSpecList}};
constexpr GoShape kNameReference{Kind::kStruct, "builtinconfig.NameBackReferences", nullptr,
                                 kNameReferenceFields};
constexpr GoShape kNameReferences{Kind::kList, "[]builtinconfig.NameBackReferences", &kNameReference};
constexpr GoField kTransformerConfigFields[] = {{"namePrefix", &kFieldSpecList},
                                                {"nameSuffix", &kFieldSpecList},
                                                {"namespace", &kFieldSpecList},
                                                {"commonLabels", &kFieldSpecList},
                                                {"labels", &kFieldSpecList},
                                                {"templateLabels", &kFieldSpecList},
                                                {"commonAnnotations", &kFieldSpecList},
                                                {"nameReference", &kNameReferences},
                                                {"varReference", &kFieldSpecList},
                                                {"images", &kFieldSpecList},
                                                {"replicas", &kFieldSpecList}};

}  // namespace

const GoShape kKustomizationShape{Kind::kStruct, "types.Kustomization", nullptr, kKustomizationFields};
const GoShape kReplacementShape{Kind::kStruct, "types.Replacement", nullptr, kReplacementFields};
const GoShape kTransformerConfigShape{Kind::kStruct, "builtinconfig.TransformerConfig", nullptr,
                                      kTransformerConfigFields};

}  // namespace flyball::cli::kustomize
