#include "node/images/image_config.h"

#include "json/json.h"
#include "node/images/image_reference.h"

namespace flyball::node {
namespace {

Result<json::Value> ParseDocument(std::string_view text, const char* what) {
  json::ParseOptions options;
  options.max_depth = 64;
  auto parsed = json::Parse(text, options);
  if (!parsed) return Unexpected(parsed.error().Annotate(what));
  if (!parsed->is_object()) return Unexpected(BadRequest(std::string(what) + ": not an object"));
  return parsed;
}

Result<ContentDescriptor> ReadDescriptor(const json::Value& value) {
  ContentDescriptor read;
  read.media_type = value["mediaType"].string_or("");
  read.digest = value["digest"].string_or("");
  read.size = value["size"].int_or(-1);
  if (!IsDigest(read.digest)) return Unexpected(BadRequest("\"" + read.digest + "\" is not a sha256 digest"));
  if (read.size < 0) return Unexpected(BadRequest("content " + read.digest + " has no size"));
  const json::Value& platform = value["platform"];
  read.os = platform["os"].string_or("");
  read.architecture = platform["architecture"].string_or("");
  read.variant = platform["variant"].string_or("");
  if (const json::Value* annotations = value.Find("annotations"); annotations && annotations->is_object())
    for (const auto& [key, text] : annotations->as_object()) read.annotations[key] = text.string_or("");
  return read;
}

std::vector<std::string> Strings(const json::Value& value) {
  std::vector<std::string> strings;
  if (value.is_array())
    for (const json::Value& item : value.as_array()) strings.emplace_back(item.string_or(""));
  return strings;
}

json::Value WriteDescriptor(const ContentDescriptor& descriptor) {
  return json::Object{
      {"mediaType", descriptor.media_type}, {"digest", descriptor.digest}, {"size", descriptor.size}};
}

}  // namespace

bool IsImageIndex(const json::Value& document) {
  const std::string_view type = document["mediaType"].string_or("");
  if (type == kOciIndexType || type == kDockerIndexType) return true;
  return type.empty() && document["manifests"].is_array();
}

Result<std::vector<ContentDescriptor>> ParseImageIndex(std::string_view text) {
  FLYBALL_ASSIGN(const json::Value document, ParseDocument(text, "image index"));
  if (!document["manifests"].is_array()) return Unexpected(BadRequest("image index: no manifests"));
  std::vector<ContentDescriptor> manifests;
  for (const json::Value& manifest : document["manifests"].as_array()) {
    FLYBALL_ASSIGN(ContentDescriptor read, ReadDescriptor(manifest));
    manifests.push_back(std::move(read));
  }
  return manifests;
}

Result<ImageManifest> ParseImageManifest(std::string_view text) {
  FLYBALL_ASSIGN(const json::Value document, ParseDocument(text, "image manifest"));
  if (document["schemaVersion"].int_or(0) != 2 || !document["layers"].is_array())
    return Unexpected(BadRequest("image manifest: not of schema version 2"));
  ImageManifest manifest;
  FLYBALL_ASSIGN(manifest.config, ReadDescriptor(document["config"]));
  for (const json::Value& layer : document["layers"].as_array()) {
    FLYBALL_ASSIGN(ContentDescriptor read, ReadDescriptor(layer));
    manifest.layers.push_back(std::move(read));
  }
  if (manifest.layers.size() > kMaxLayers)
    return Unexpected(BadRequest("image manifest: more than " + std::to_string(kMaxLayers) + " layers"));
  return manifest;
}

Result<ImageConfig> ParseImageConfig(std::string_view text) {
  FLYBALL_ASSIGN(const json::Value document, ParseDocument(text, "image configuration"));
  const json::Value& config = document["config"];
  ImageConfig read;
  read.os = document["os"].string_or("");
  read.architecture = document["architecture"].string_or("");
  read.user = config["User"].string_or("");
  read.env = Strings(config["Env"]);
  read.entrypoint = Strings(config["Entrypoint"]);
  read.cmd = Strings(config["Cmd"]);
  read.working_dir = config["WorkingDir"].string_or("");
  read.stop_signal = config["StopSignal"].string_or("");
  read.diff_ids = Strings(document["rootfs"]["diff_ids"]);
  for (const std::string& id : read.diff_ids)
    if (!IsDigest(id)) return Unexpected(BadRequest("image configuration: \"" + id + "\" is not a digest"));
  return read;
}

std::string WriteImageManifest(const ImageManifest& manifest) {
  json::Array layers;
  for (const ContentDescriptor& layer : manifest.layers) layers.push_back(WriteDescriptor(layer));
  return json::Write(json::Object{{"schemaVersion", 2},
                                  {"mediaType", kOciManifestType},
                                  {"config", WriteDescriptor(manifest.config)},
                                  {"layers", std::move(layers)}});
}

std::string_view MachineArchitecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__arm__)
  return "arm";
#elif defined(__powerpc64__)
  return "ppc64le";
#elif defined(__s390x__)
  return "s390x";
#elif defined(__riscv)
  return "riscv64";
#else
  return "386";
#endif
}

Result<ContentDescriptor> ChooseManifest(const std::vector<ContentDescriptor>& manifests) {
  for (const ContentDescriptor& manifest : manifests)
    if (manifest.os == "linux" && manifest.architecture == MachineArchitecture()) return manifest;
  // An archive that was saved for one machine need not say for which.
  if (manifests.size() == 1 && manifests[0].os.empty()) return manifests[0];
  return Unexpected(Error(Reason::kNotFound,
                          "no match for platform in manifest: linux/" + std::string(MachineArchitecture())));
}

}  // namespace flyball::node
