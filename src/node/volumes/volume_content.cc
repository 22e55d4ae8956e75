#include "node/volumes/volume_content.h"

#include <sys/stat.h>

#include "base/files/durable_file.h"
#include "json/json.h"
#include "net/tls/pki.h"
#include "node/volumes/pod_fields.h"

namespace flyball::node {
namespace {

constexpr mode_t kDefaultFileMode = 0644, kTokenMode = 0600;
constexpr std::int64_t kTokenSeconds = 3600;
// Upstream's token manager renews at this part of a token's life.
constexpr double kRenewAfter = 0.8;

class ContentReader {
 public:
  ContentReader(const Client& client, const Pod& pod, std::string pod_ip, std::string folder, mode_t mode)
      : client_(client), pod_(pod), pod_ip_(std::move(pod_ip)), folder_(std::move(folder)), mode_(mode) {}

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
      if (item.field_ref)
        value = FieldValue(pod_, {pod_ip_, pod_.status.host_ip}, item.field_ref->field_path);
      if (item.resource_field_ref)
        for (const Container& container : pod_.spec.containers)
          if (container.name == item.resource_field_ref->container_name)
            value = ResourceValue(container, *item.resource_field_ref);
      files[item.path] = {value, item.mode ? static_cast<mode_t>(*item.mode) : mode_};
    }
    return {};
  }

  Status AddToken(const ServiceAccountTokenProjection& token) {
    if (const std::string known = StillGood(token); !known.empty()) {
      files[token.path] = {known, TokenMode()};
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
    files[token.path] = {std::string((*made)["status"]["token"].string_or("")), TokenMode()};
    return {};
  }

  VolumeFiles files;

 private:
  // Readable by the group where the pod has one; else for everybody in the container, whoever that is.
  mode_t TokenMode() const {
    const bool own_group = pod_.spec.security_context && pod_.spec.security_context->fs_group;
    return own_group ? kTokenMode : mode_;
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

  const Client& client_;
  const Pod& pod_;
  const std::string pod_ip_, folder_;
  const mode_t mode_;
};

Status AddProjected(ContentReader& reader, const ProjectedVolumeSource& projected) {
  for (const VolumeProjection& source : projected.sources) {
    if (const auto& of = source.config_map)
      FLYBALL_TRY(reader.AddObject(false, of->name, of->items, of->optional.value_or(false)));
    if (const auto& of = source.secret)
      FLYBALL_TRY(reader.AddObject(true, of->name, of->items, of->optional.value_or(false)));
    if (const auto& of = source.downward_api) FLYBALL_TRY(reader.AddFields(of->items));
    if (const auto& of = source.service_account_token) FLYBALL_TRY(reader.AddToken(*of));
    if (source.cluster_trust_bundle || source.pod_certificate)
      return Unexpected(
          BadRequest("projections of trust bundles and pod certificates are not supported by this node"));
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

Result<VolumeFiles> ContentOf(const Client& client, const Pod& pod, const Volume& volume,
                              const std::string& pod_ip, const std::string& folder) {
  ContentReader reader(client, pod, pod_ip, folder, ModeOf(volume));
  if (const auto& of = volume.config_map)
    FLYBALL_TRY(reader.AddObject(false, of->name, of->items, of->optional.value_or(false)));
  if (const auto& of = volume.secret)
    FLYBALL_TRY(reader.AddObject(true, of->secret_name, of->items, of->optional.value_or(false)));
  if (const auto& of = volume.downward_api) FLYBALL_TRY(reader.AddFields(of->items));
  if (volume.projected) FLYBALL_TRY(AddProjected(reader, *volume.projected));
  return std::move(reader.files);
}

}  // namespace flyball::node
