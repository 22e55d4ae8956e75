// The documents that an image is made of: index, manifest and configuration, of the OCI image specification
// and of Docker, which differ in their media types alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::node {

// Documents of a few kilobytes; larger ones are refused.
inline constexpr std::int64_t kMaxImageDocument = 4 << 20;
// overlayfs takes fewer, in one mount; nobody has more.
inline constexpr std::size_t kMaxLayers = 127;

inline constexpr char kOciManifestType[] = "application/vnd.oci.image.manifest.v1+json";
inline constexpr char kOciIndexType[] = "application/vnd.oci.image.index.v1+json";
inline constexpr char kOciConfigType[] = "application/vnd.oci.image.config.v1+json";
inline constexpr char kOciLayerType[] = "application/vnd.oci.image.layer.v1.tar";
inline constexpr char kDockerManifestType[] = "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr char kDockerIndexType[] = "application/vnd.docker.distribution.manifest.list.v2+json";

// A reference to other content.
struct ContentDescriptor {
  std::string media_type, digest;
  std::int64_t size = 0;
  std::string os, architecture, variant;  // of a manifest in an index
  std::map<std::string, std::string> annotations;
};

struct ImageManifest {
  ContentDescriptor config;
  std::vector<ContentDescriptor> layers;  // the lowest first
};

// What a container of the image runs, unless its spec says something else.
struct ImageConfig {
  std::string os, architecture;
  std::string user;
  std::vector<std::string> env;  // "NAME=value"
  std::vector<std::string> entrypoint, cmd;
  std::string working_dir, stop_signal;
  std::vector<std::string> diff_ids;  // of the layers, the lowest first
};

// Whether the document is an index, by its media type or by what it has.
bool IsImageIndex(const json::Value& document);

// Each: BadRequest if the text is not that document, or has digests that are not.
Result<std::vector<ContentDescriptor>> ParseImageIndex(std::string_view text);
Result<ImageManifest> ParseImageManifest(std::string_view text);
Result<ImageConfig> ParseImageConfig(std::string_view text);

std::string WriteImageManifest(const ImageManifest& manifest);

// The manifest of an index for this machine. NotFound with upstream's words if there is none.
Result<ContentDescriptor> ChooseManifest(const std::vector<ContentDescriptor>& manifests);
// "amd64", as images name what this program was built for.
std::string_view MachineArchitecture();

}  // namespace flyball::node
