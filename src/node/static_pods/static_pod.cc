#include "node/static_pods/static_pod.h"

#include <algorithm>

#include "api/rules/kind_hooks.h"
#include "api/rules/object_meta.h"
#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "api/schema/schema.h"
#include "base/values/ascii.h"
#include "json/json.h"
#include "json/yaml/yaml.h"
#include "net/tls/pki.h"

namespace flyball::node {
namespace {

constexpr std::size_t kUidBytes = 16;  // as of upstream's hash

std::string HexOf(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return hex;
}

// The pod as the server would have decoded it.
Result<json::Value> DecodePod(json::Value manifest) {
  const std::string_view kind = std::as_const(manifest)["kind"].string_or("");
  const std::string_view version = std::as_const(manifest)["apiVersion"].string_or("");
  if (kind != "Pod" || version != "v1")
    return Unexpected(BadRequest("invalid pod: apiVersion \"" + std::string(version) + "\", kind \"" +
                                 std::string(kind) + "\""));
  api::DecodeContext context;
  const api::TypeInfo& type = *api::FindKindType("", "v1", "Pod");
  FLYBALL_TRY(api::Decode(type, manifest, context));
  api::ApplyDefaults(type, manifest);
  if (const auto set_defaults = api::HooksFor("", "Pod").set_defaults) set_defaults(manifest);
  api::Canonicalize(type, manifest);
  return manifest;
}

// Everything that comes with being the node's own (upstream: applyDefaults).
void MakeNodesOwn(json::Value& pod, const std::string& file, const std::string& node) {
  json::Value& metadata = pod["metadata"];
  if (std::as_const(metadata)["uid"].string_or("").empty())
    metadata["uid"] =
        HexOf(net::Sha256(json::Write(pod) + "host:" + node + "file:" + file).substr(0, kUidBytes));
  metadata["name"] = std::string(std::as_const(metadata)["name"].string_or("")) + "-" + LowerCase(node);
  if (std::as_const(metadata)["namespace"].string_or("").empty()) metadata["namespace"] = "default";
  json::Value& annotations = metadata["annotations"];
  annotations[kConfigHash] = std::as_const(metadata)["uid"];
  annotations[kConfigSource] = "file";
  json::Value& spec = pod["spec"];
  spec["nodeName"] = node;
  // It stays when the node has problems.
  json::Value& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations = json::Array{};
  const json::Value all = json::Object{{"operator", "Exists"}, {"effect", "NoExecute"}};
  json::Array& list = tolerations.as_array();
  if (std::find(list.begin(), list.end(), all) == list.end()) list.push_back(all);
  pod["status"] = json::Object{{"phase", "Pending"}};
}

Status ValidateStaticPod(const json::Value& pod) {
  api::FieldErrors errors;
  const api::KindHooks& hooks = api::HooksFor("", "Pod");
  api::ValidateObjectMetaForCreate(*api::FindBuiltinKind("", "v1", "Pod"), hooks, pod["metadata"], errors);
  if (hooks.validate) hooks.validate(pod, errors);
  if (errors.empty()) return {};
  const Error all = errors.ToError("", "Pod", pod["metadata"]["name"].string_or(""));
  return Unexpected(BadRequest("invalid pod: " + all.message()));
}

// What a volume of this source takes from the API server; null: nothing.
const char* NeededByProjection(const VolumeProjection& source) {
  if (source.config_map) return "configmaps (via projected volumes)";
  if (source.secret) return "secrets (via projected volumes)";
  if (source.service_account_token) return "serviceaccounts (via projected volumes)";
  if (source.cluster_trust_bundle) return "clustertrustbundles";
  if (source.pod_certificate) return "podcertificates";
  return nullptr;
}

const char* NeededByVolume(const Volume& volume) {
  if (volume.config_map) return "configmaps (via configmap volumes)";
  if (volume.secret) return "secrets (via secret volumes)";
  if (volume.csi) return "csidrivers (via CSI volumes)";
  if (volume.glusterfs) return "endpoints (via glusterFS volumes)";
  if (volume.persistent_volume_claim) return "persistentvolumeclaims";
  if (volume.ephemeral) return "persistentvolumeclaims (via ephemeral volumes)";
  if (volume.azure_file) return "secrets (via azureFile volumes)";
  if (volume.projected)
    for (const VolumeProjection& source : volume.projected->sources)
      if (const char* needed = NeededByProjection(source)) return needed;
  return nullptr;
}

const char* NeededByEnvironment(const Container& container) {
  for (const EnvFromSource& from : container.env_from) {
    if (from.secret_ref) return "secrets";
    if (from.config_map_ref) return "configmaps";
  }
  for (const EnvVar& variable : container.env) {
    if (!variable.value_from) continue;
    if (variable.value_from->secret_key_ref) return "secrets";
    if (variable.value_from->config_map_key_ref) return "configmaps";
  }
  return nullptr;
}

// Upstream: HasAPIObjectReference.
const char* NeededFromServer(const PodSpec& spec) {
  if (!spec.service_account_name.empty()) return "serviceaccounts";
  if (!spec.image_pull_secrets.empty()) return "secrets";
  for (const auto* list : {&spec.init_containers, &spec.containers})
    for (const Container& container : *list)
      if (const char* needed = NeededByEnvironment(container)) return needed;
  if (!spec.resource_claims.empty()) return "resourceclaims";
  for (const Volume& volume : spec.volumes)
    if (const char* needed = NeededByVolume(volume)) return needed;
  return nullptr;
}

std::string AnnotationOf(const Pod& pod, const char* name) {
  const auto found = pod.metadata.annotations.find(name);
  return found == pod.metadata.annotations.end() ? "" : found->second;
}

}  // namespace

bool IsMirrorPod(const Pod& pod) {
  return pod.metadata.annotations.contains(kConfigMirror);
}

bool IsStaticPod(const Pod& pod) {
  const std::string source = AnnotationOf(pod, kConfigSource);
  return !source.empty() && source != "api" && !IsMirrorPod(pod);
}

std::string PodKeyOf(const Pod& pod) {
  return pod.metadata.namespace_ + "/" + pod.metadata.name;
}

Result<std::shared_ptr<const Pod>> ReadStaticPod(std::string_view text, const std::string& file,
                                                 const std::string& node) {
  const auto unreadable = [&](const Error& why) {
    return Unexpected(
        BadRequest(file + ": couldn't parse as pod(" + why.message() + "), please check config file"));
  };
  auto manifest = json::ParseYaml(text);
  if (!manifest) return unreadable(manifest.error());
  auto decoded = DecodePod(std::move(*manifest));
  if (!decoded) return unreadable(decoded.error());
  if (std::as_const(*decoded)["metadata"]["name"].string_or("").empty())
    return Unexpected(BadRequest("invalid pod: name is needed for the pod"));
  MakeNodesOwn(*decoded, file, node);
  FLYBALL_TRY(ValidateStaticPod(*decoded));
  auto pod = std::make_shared<Pod>();
  FLYBALL_TRY(FromJson(*decoded, pod.get()));
  if (const char* needed = NeededFromServer(pod->spec))
    return Unexpected(BadRequest(std::string("static pods may not reference ") + needed));
  return std::shared_ptr<const Pod>(std::move(pod));
}

Pod MirrorOf(const Pod& pod, const std::string& node_uid) {
  Pod mirror = pod;
  mirror.metadata.uid.clear();
  mirror.metadata.annotations[kConfigMirror] = AnnotationOf(pod, kConfigHash);
  OwnerReference owner;
  owner.api_version = "v1";
  owner.kind = "Node";
  owner.name = pod.spec.node_name;
  owner.uid = node_uid;
  owner.controller = true;
  mirror.metadata.owner_references = {owner};
  return mirror;
}

}  // namespace flyball::node
