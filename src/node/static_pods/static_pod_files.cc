#include "node/static_pods/static_pod_files.h"

#include <filesystem>
#include <fstream>
#include <map>

#include "base/observe/log.h"
#include "node/static_pods/static_pod.h"

namespace flyball::node {
namespace {

constexpr std::uintmax_t kMaxManifest = std::uintmax_t{10} << 20;  // upstream: maxConfigLength

std::string WithoutEndingSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::vector<std::string> ManifestsIn(const std::string& path) {
  std::error_code ec;
  if (!std::filesystem::is_directory(path, ec)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, ec))
    if (!entry.path().filename().string().starts_with('.') && entry.is_regular_file(ec))
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::shared_ptr<const Pod>> ReadManifest(const std::string& file, const std::string& node) {
  std::error_code ec;
  if (std::filesystem::file_size(file, ec) > kMaxManifest)
    return Unexpected(BadRequest(ec ? ec.message() : "it has more than 10 MiB"));
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return ReadStaticPod(text, file, node);
}

}  // namespace

StaticPodFiles::StaticPodFiles(std::string path, std::string node)
    : path_(WithoutEndingSlash(std::filesystem::absolute(path).string())), node_(std::move(node)) {}

Status StaticPodFiles::Watch(std::function<void(Pods)> changed) {
  // Both what the path means and, if that is a folder, what is in it.
  return watcher_.Watch({path_ + "/"}, [this, changed = std::move(changed)] { changed(Read()); });
}

StaticPodFiles::Pods StaticPodFiles::Read() const {
  std::map<std::string, std::shared_ptr<const Pod>> by_key;
  std::error_code ec;
  if (!std::filesystem::exists(path_, ec)) return {};
  for (const std::string& file : ManifestsIn(path_)) {
    auto pod = ReadManifest(file, node_);
    if (pod)
      by_key[PodKeyOf(**pod)] = std::move(*pod);
    else
      log::Error("Could not process manifest file", {{"path", file}, {"error", pod.error().message()}});
  }
  Pods pods;
  for (auto& [key, pod] : by_key) pods.push_back(std::move(pod));
  return pods;
}

}  // namespace flyball::node
