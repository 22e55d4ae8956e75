#include <re2/re2.h>

#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/transform/transformer.h"
#include "json/json.h"

namespace flyball::cli::kustomize {
namespace {

bool IsRoleBinding(const std::string& kind) {
  return kind == "RoleBinding" || kind == "ClusterRoleBinding";
}

// The fields that are left to the spec: metadata.namespace is always set, and so is the namespace of
// subjects; only of a Namespace itself is the name the namespace.
FieldSpecs NamespaceSpecsFor(const json::Value& object, const FieldSpecs& specs) {
  FieldSpecs needed;
  const std::string kind = ScalarText(object["kind"]);
  for (const FieldSpec& spec : specs) {
    if (spec.path == "metadata/namespace") continue;
    if (spec.path == "metadata/name" && ScalarText(object["apiVersion"]) != "v1") continue;
    if (IsRoleBinding(kind) && IsRoleBinding(spec.gvk.kind) && spec.path == "subjects/namespace") continue;
    needed.push_back(spec);
  }
  return needed;
}

void SetDefaultSubjects(json::Value& object, const std::string& ns) {
  json::Value* subjects = object.Find("subjects");
  if (subjects == nullptr || !subjects->is_array()) return;
  for (json::Value& subject : subjects->as_array())
    if (ScalarText(std::as_const(subject)["name"]) == "default") subject["namespace"] = ns;
}

Status SetNamespace(json::Value& object, const std::string& ns, const FieldSpecs& specs) {
  const json::Value& before = object;
  const Gvk gvk = GvkOf(ScalarText(before["apiVersion"]), ScalarText(before["kind"]));
  if (!gvk.IsClusterScoped())
    FLYBALL_TRY(ChangeField(object, {{}, "metadata/namespace", true}, CreateAs::kScalar, SetScalar(ns)));
  if (IsRoleBinding(gvk.kind)) SetDefaultSubjects(object, ns);
  auto set = ChangeFields(object, NamespaceSpecsFor(object, specs), CreateAs::kScalar, SetScalar(ns));
  if (!set) return Wrap("namespace transformation failed", set.error());
  return {};
}

// Two objects that only their namespaces told apart.
Status CheckConflict(const ResourceList& resources, const Resource& changed) {
  const ResourceId id = changed.Id();
  std::string matches;
  int count = 0;
  for (const auto& other : resources.items()) {
    if (!id.IsSame(other->Id())) continue;
    matches += (count++ == 0 ? "" : " ") + json::Write(other->object);
  }
  if (count == 1) return {};
  return Fail("namespace transformation produces ID conflict: [" + matches + "]");
}

// Kinds whose names mean something by themselves.
bool KeepsName(const Gvk& gvk) {
  return gvk.kind == "CustomResourceDefinition" || gvk.kind == "Namespace" ||
         (gvk.kind == "APIService" && gvk.group == "apiregistration.k8s.io");
}

// Prefix and suffix differ only in where they go.
struct NameAffix {
  std::string prefix, suffix;

  Status Apply(Resource& resource, const FieldSpecs& specs) const {
    const Gvk gvk = resource.OriginalId().gvk;
    if (KeepsName(gvk)) return {};
    for (const FieldSpec& spec : specs) {
      if (!gvk.IsSelectedBy(spec.gvk)) continue;
      if (spec.path == "metadata/name") Note(resource);
      FLYBALL_TRY(ChangeField(resource.object, spec, CreateAs::kScalar, [this](json::Value& node) {
        return SetScalar(prefix + ScalarText(node) + suffix)(node);
      }));
    }
    return {};
  }

  void Note(Resource& resource) const {
    if (!prefix.empty()) resource.prefixes.push_back(prefix);
    if (!suffix.empty()) resource.suffixes.push_back(suffix);
    resource.Remember();
  }
};

Transformer AffixTransformer(std::string name, NameAffix affix, const FieldSpecs& specs) {
  return {std::move(name), [affix = std::move(affix), specs](ResourceList& resources) -> Status {
            for (const auto& resource : resources.items()) FLYBALL_TRY(affix.Apply(*resource, specs));
            return {};
          }};
}

Transformer MapTransformer(std::string name, const StringMap& pairs, const FieldSpecs& specs) {
  return {std::move(name), [pairs, specs](ResourceList& resources) -> Status {
            for (const auto& resource : resources.items())
              for (const auto& [key, value] : pairs)
                FLYBALL_TRY(ChangeFields(resource->object, specs, CreateAs::kMap, SetMember(key, value)));
            return {};
          }};
}

struct ImageParts {
  std::string name, tag, digest;
};

// registry:5000/name:tag@digest; a colon before the first slash is the registry's.
ImageParts SplitImage(const std::string& image) {
  const std::size_t slash = image.find('/');
  const std::size_t from = slash == std::string::npos ? 0 : slash;
  const std::size_t at = image.find('@', from);
  const std::size_t colon = image.find(':', from);
  const bool has_tag = colon != std::string::npos && (at == std::string::npos || colon < at);
  ImageParts parts;
  parts.name = image.substr(0, has_tag ? colon : at);
  if (has_tag) parts.tag = image.substr(colon + 1, at == std::string::npos ? at : at - colon - 1);
  if (at != std::string::npos) parts.digest = image.substr(at + 1);
  return parts;
}

// Changes image names that match an entry of `images`.
class ImageChange {
 public:
  explicit ImageChange(const ImageEntry& entry)
      : entry_(entry),
        pattern_("^" + entry.name + "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$", RE2::Quiet) {}

  Status Change(json::Value& node) const {
    if (node.is_object() || node.is_array()) return Fail(WrongKindText("ScalarNode", node));
    const std::string image = ScalarText(node);
    if (pattern_.ok() && RE2::PartialMatch(image, pattern_)) node = Renamed(SplitImage(image));
    return {};
  }

  // Every field `containers` or `initContainers`, wherever it is.
  Status ChangeContainers(json::Value& node) const {
    if (node.is_array())
      for (json::Value& item : node.as_array()) FLYBALL_TRY(ChangeContainers(item));
    if (!node.is_object()) return {};
    for (auto& [key, value] : node.as_object()) {
      FLYBALL_TRY(ChangeContainers(value));
      if ((key != "containers" && key != "initContainers") || !value.is_array()) continue;
      for (json::Value& container : value.as_array())
        if (json::Value* image = container.Find("image")) FLYBALL_TRY(Change(*image));
    }
    return {};
  }

 private:
  std::string Renamed(ImageParts parts) const {
    if (!entry_.new_name.empty()) parts.name = entry_.new_name;
    if (!entry_.new_tag.empty() || !entry_.digest.empty()) {
      parts.tag = entry_.new_tag;
      parts.digest = entry_.digest;
    } else if (!entry_.tag_suffix.empty()) {
      parts.tag += entry_.tag_suffix;
      parts.digest.clear();
    }
    if (!parts.tag.empty()) parts.name += ":" + parts.tag;
    return parts.digest.empty() ? parts.name : parts.name + "@" + parts.digest;
  }

  const ImageEntry entry_;
  const RE2 pattern_;
};

}  // namespace

Transformer NamespaceTransformer(const std::string& ns, const FieldSpecs& specs) {
  return {"NamespaceTransformer", [ns, specs](ResourceList& resources) -> Status {
            for (const auto& resource : resources.items()) {
              if (resource->empty()) continue;
              resource->Remember();
              FLYBALL_TRY(SetNamespace(resource->object, ns, specs));
              FLYBALL_TRY(CheckConflict(resources, *resource));
            }
            return {};
          }};
}

Transformer PrefixTransformer(const std::string& prefix, const FieldSpecs& specs) {
  return AffixTransformer("PrefixTransformer", {prefix, ""}, specs);
}

Transformer SuffixTransformer(const std::string& suffix, const FieldSpecs& specs) {
  return AffixTransformer("SuffixTransformer", {"", suffix}, specs);
}

Transformer LabelTransformer(const StringMap& labels, const FieldSpecs& specs) {
  return MapTransformer("LabelTransformer", labels, specs);
}

Result<std::vector<Transformer>> LabelTransformers(const Kustomization& kustomization,
                                                   const TransformerConfig& config) {
  std::vector<Transformer> transformers;
  for (const LabelEntry& entry : kustomization.labels) {
    FieldSpecs specs = entry.fields;
    auto merged = MergeFieldSpecs(specs, config.labels);
    if (merged && entry.include_selectors) merged = MergeFieldSpecs(specs, config.common_labels);
    if (merged && !entry.include_selectors && entry.include_templates) {
      auto templates = MergeFieldSpecs(specs, config.template_labels);
      if (!templates) return Wrap("failed to merge template fieldSpec", templates.error());
    }
    if (merged && !entry.include_selectors) merged = MergeFieldSpecs(specs, {{{}, "metadata/labels", true}});
    if (!merged) return Wrap("failed to merge labels", merged.error());
    transformers.push_back(LabelTransformer(entry.pairs, specs));
  }
  if (!kustomization.labels.empty() || !kustomization.common_labels.empty())
    transformers.push_back(LabelTransformer(kustomization.common_labels, config.common_labels));
  return transformers;
}

Transformer AnnotationsTransformer(const StringMap& annotations, const FieldSpecs& specs) {
  return MapTransformer("AnnotationsTransformer", annotations, specs);
}

Transformer ReplicaTransformer(const ReplicaEntry& replica, const FieldSpecs& specs) {
  return {"ReplicaCountTransformer", [replica, specs](ResourceList& resources) -> Status {
            bool found = false;
            std::string kinds;
            for (const FieldSpec& spec : specs) {
              kinds += (kinds.empty() ? "" : " ") + spec.gvk.ToString();
              for (Resource* resource : resources.WithAnyId([&](const ResourceId& id) {
                     return id.name == replica.name && id.gvk.IsSelectedBy(spec.gvk);
                   })) {
                found = true;
                FLYBALL_TRY(ChangeField(resource->object, spec, CreateAs::kScalar, SetScalar(replica.count)));
              }
            }
            if (found) return {};
            return Fail("resource with name " + replica.name +
                        " does not match a config with the following GVK [" + kinds + "]");
          }};
}

Transformer ImageTransformer(const ImageEntry& image, const FieldSpecs& specs) {
  auto change = std::make_shared<const ImageChange>(image);
  return {"ImageTagTransformer", [change, specs](ResourceList& resources) -> Status {
            for (const auto& resource : resources.items()) {
              if (resource->kind() == "CustomResourceDefinition") continue;
              FLYBALL_TRY(change->ChangeContainers(resource->object));
              FLYBALL_TRY(ChangeFields(resource->object, specs, CreateAs::kNothing,
                                       [&](json::Value& node) { return change->Change(node); }));
            }
            return {};
          }};
}

}  // namespace flyball::cli::kustomize
