#include "node/volumes/volume_content.h"

#include <sys/stat.h>

#include "base/files/durable_file.h"
#include "json/json.h"
#include "net/tls/pki.h"
#include "node/volumes/trust_bundles.h"

namespace flyball::node {
namespace {

constexpr mode_t kDefaultFileMode = 0644, kPrivateMode = 0600;
constexpr std::int64_t kTokenSeconds = 3600;
// Upstream's token manager renews at this part of a token's life.
constexpr double kRenewAfter = 0.8;

// The user of all containers, if they have one in common (upstream: FsUserFrom).
std::optional<uid_t> CommonUser(const Pod& pod) {
  std::optional<std::int64_t> common;
  const auto& of_pod = pod.spec.security_context;
  for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers})
    for (const Container& container : *list) {
      std::optional<std::int64_t> user = of_pod ? of_pod->run_as_user : std::nullopt;
      if (container.security_context && container.security_context->run_as_user)
        user = container.security_context->run_as_user;
      if (!user || (common && *common != *user)) return std::nullopt;
      common = user;
    }
  if (!common) return std::nullopt;
  return static_cast<uid_t>(*common);
}

class ContentReader {
 public:
  ContentReader(const ContentSources& sources, const Pod& pod, const Volume& volume, std::string folder,
                mode_t mode)
      : sources_(sources),
        client_(sources.client),
        pod_(pod),
        volume_(volume),
        folder_(std::move(folder)),
        mode_(mode) {}

  Status AddObject(bool secret, const std::string& name, const std::vector<KeyToPath>& items, bool optional) {
    const DynamicClient of = secret ? client_.Of<Secret>() : client_.Of<ConfigMap>();
    const auto object = of.Get(pod_.metadata.namespace_, name);
    if (!object && optional && object.error().Is(Reason::kNotFound)) return {};
    if (!object) return Unexpected(object.error());
    std::map<std::string, std::string> data;
    for (const auto& [member, encoded] : {std::pair("data", secret), std::pair("binaryData", true)})
      if (const json::Value* members = object->Find(member); members && members->is_object())
        for (const auto& [key, value] : members->as_object()) {
          const std::string text(value.string_or(""));
          const auto decoded = encoded ? net::Base64Decode(text) : Result<std::string>(text);
          data[key] = decoded ? *decoded : text;
        }
    if (items.empty())
      for (const auto& [key, value] : data) files[key] = {value, mode_};
    for (const KeyToPath& item : items) {
      const auto found = data.find(item.key);
      if (found == data.end() && optional) continue;
      if (found == data.end())
        return Unexpected(
            Error(Reason::kNotFound, std::string(secret ? "references non-existent secret key: "
                                                        : "configmap references non-existent config key: ") +
                                         item.key));
      files[item.path] = {found->second, item.mode ? static_cast<mode_t>(*item.mode) : mode_};
    }
    return {};
  }

  Status AddFields(const std::vector<DownwardAPIVolumeFile>& items) {
    for (const DownwardAPIVolumeFile& item : items) {
      std::string value;
      if (item.field_ref) value = FieldValue(pod_, sources_.addresses, item.field_ref->field_path);
      if (const auto& ref = item.resource_field_ref)
        if (const Container* const container = ContainerOf(pod_, *ref, nullptr))
          value = ResourceValue(*container, *ref, sources_.allocatable);
      files[item.path] = {value, item.mode ? static_cast<mode_t>(*item.mode) : mode_};
    }
    return {};
  }

  Status AddToken(const ServiceAccountTokenProjection& token) {
    if (const std::string known = StillGood(token); !known.empty()) {
      files[token.path] = Private(known);
      return {};
    }
    json::Object spec{{"expirationSeconds", token.expiration_seconds.value_or(kTokenSeconds)},
                      {"boundObjectRef", json::Object{{"apiVersion", "v1"},
                                                      {"kind", "Pod"},
                                                      {"name", pod_.metadata.name},
                                                      {"uid", pod_.metadata.uid}}}};
    if (!token.audience.empty()) spec.Set("audiences", json::Array{token.audience});
    const std::string account =
        pod_.spec.service_account_name.empty() ? "default" : pod_.spec.service_account_name;
    const json::Value request = json::Object{
        {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", std::move(spec)}};
    const auto made =
        client_.Of<ServiceAccount>().CreateSubresource(pod_.metadata.namespace_, account, "token", request);
    if (!made) return Unexpected(made.error().Annotate("failed to fetch token"));
    files[token.path] = Private(std::string((*made)["status"]["token"].string_or("")));
    return {};
  }

  Status AddTrustBundle(const ClusterTrustBundleProjection& projection) {
    FLYBALL_ASSIGN(std::string anchors, TrustAnchorsOf(client_, projection));
    files[projection.path] = Private(std::move(anchors));
    return {};
  }

  Status AddCertificate(const PodCertificateProjection& projection, std::size_t source) {
    FLYBALL_ASSIGN(const CredentialBundle bundle,
                   sources_.certificates.Get(pod_, volume_.name, source, projection));
    if (const std::string& path = projection.credential_bundle_path; !path.empty())
      files[path] = Private(bundle.key + bundle.certificates);
    if (!projection.key_path.empty()) files[projection.key_path] = Private(bundle.key);
    if (const std::string& path = projection.certificate_chain_path; !path.empty())
      files[path] = Private(bundle.certificates);
    return {};
  }

  VolumeFiles files;

 private:
  // Readable by the pod's user or group where all containers have one; else for everybody in them, whoever
  // that is.
  VolumeFile Private(std::string content) const {
    const bool own_group = pod_.spec.security_context && pod_.spec.security_context->fs_group;
    const auto user = CommonUser(pod_);
    return {std::move(content), own_group || user ? kPrivateMode : mode_, user};
  }
  // The token the volume has, if most of its life is still to come.
  std::string StillGood(const ServiceAccountTokenProjection& token) const {
    const std::string path = folder_ + "/" + token.path;
    const auto known = ReadFile(path);
    if (!known) return {};
    const std::size_t first = known->find('.'), second = known->find('.', first + 1);
    if (second == std::string::npos) return {};
    const auto claims = net::Base64UrlDecode(known->substr(first + 1, second - first - 1));
    const auto parsed = claims ? json::Parse(*claims) : Result<json::Value>(json::Value());
    if (!parsed) return {};
    const auto issued = static_cast<double>((*parsed)["iat"].int_or(0));
    const auto expires = static_cast<double>((*parsed)["exp"].int_or(0));
    const auto now = static_cast<double>(
        std::chrono::duration_cast<std::chrono::seconds>(client_.runtime().clock().Now().time_since_epoch())
            .count());
    return now < issued + (expires - issued) * kRenewAfter ? *known : std::string();
  }

  const ContentSources& sources_;
  const Client& client_;
  const Pod& pod_;
  const Volume& volume_;
  const std::string folder_;
  const mode_t mode_;
};

Status AddProjected(ContentReader& reader, const ProjectedVolumeSource& projected) {
  for (std::size_t i = 0; i < projected.sources.size(); ++i) {
    const VolumeProjection& source = projected.sources[i];
    if (const auto& of = source.config_map)
      FLYBALL_TRY(reader.AddObject(false, of->name, of->items, of->optional.value_or(false)));
    if (const auto& of = source.secret)
      FLYBALL_TRY(reader.AddObject(true, of->name, of->items, of->optional.value_or(false)));
    if (const auto& of = source.downward_api) FLYBALL_TRY(reader.AddFields(of->items));
    if (const auto& of = source.service_account_token) FLYBALL_TRY(reader.AddToken(*of));
    if (const auto& of = source.cluster_trust_bundle) FLYBALL_TRY(reader.AddTrustBundle(*of));
    if (const auto& of = source.pod_certificate) FLYBALL_TRY(reader.AddCertificate(*of, i));
  }
  return {};
}

mode_t ModeOf(const Volume& volume) {
  std::optional<std::int32_t> mode;
  if (volume.config_map) mode = volume.config_map->default_mode;
  if (volume.secret) mode = volume.secret->default_mode;
  if (volume.downward_api) mode = volume.downward_api->default_mode;
  if (volume.projected) mode = volume.projected->default_mode;
  return mode ? static_cast<mode_t>(*mode) : kDefaultFileMode;
}

}  // namespace

bool HasContent(const Volume& volume) {
  return volume.config_map || volume.secret || volume.downward_api || volume.projected;
}

Result<VolumeFiles> ContentOf(const ContentSources& sources, const Pod& pod, const Volume& volume,
                              const std::string& folder) {
  ContentReader reader(sources, pod, volume, folder, ModeOf(volume));
  if (const auto& of = volume.config_map)
    FLYBALL_TRY(reader.AddObject(false, of->name, of->items, of->optional.value_or(false)));
  if (const auto& of = volume.secret)
    FLYBALL_TRY(reader.AddObject(true, of->secret_name, of->items, of->optional.value_or(false)));
  if (const auto& of = volume.downward_api) FLYBALL_TRY(reader.AddFields(of->items));
  if (volume.projected) FLYBALL_TRY(AddProjected(reader, *volume.projected));
  return std::move(reader.files);
}

}  // namespace flyball::node
