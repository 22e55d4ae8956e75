#include "node/images/image_builder.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/files/durable_file.h"
#include "json/json.h"
#include "node/images/dockerfile.h"
#include "node/images/layer_writer.h"
#include "node/images/rooted_tree.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr char kDockerfileName[] = "Dockerfile";
constexpr char kDefaultEnvPath[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

json::Array ArrayOf(const std::vector<std::string>& strings) {
  return json::Array(strings.begin(), strings.end());
}

void SetVariable(std::vector<std::string>& env, const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('=') + 1);
  std::erase_if(env, [&](const std::string& known) { return known.starts_with(name); });
  env.push_back(variable);
}

class ImageBuild {
 public:
  ImageBuild(ImageStore& store, std::string folder) : store_(store), folder_(std::move(folder)) {
    config_.env = {kDefaultEnvPath};
  }

  // The folder is the root.
  Status TakeFolder() {
    FLYBALL_ASSIGN(const auto layer, LayerArchive::New(store_.blobs(), store_.limits().max_bytes));
    FLYBALL_TRY(layer->AddTree(folder_, ""));
    return Keep(*layer);
  }

  Status Run(const std::vector<DockerfileStep>& steps) {
    for (const DockerfileStep& step : steps) {
      const Status done = Do(step);
      if (!done) return Unexpected(done.error().Annotate("Dockerfile line " + std::to_string(step.line)));
    }
    return {};
  }

  Result<std::string> Finish(const std::string& name) {
    const std::string text = ConfigText();
    FLYBALL_ASSIGN(const std::string id, store_.blobs().Add(text));
    manifest_.config = {
        .media_type = kOciConfigType, .digest = id, .size = static_cast<std::int64_t>(text.size())};
    FLYBALL_ASSIGN(const std::string digest, store_.blobs().Add(WriteImageManifest(manifest_)));
    FLYBALL_TRY(store_.Add(digest, {name}));
    return id;
  }

 private:
  Status Keep(LayerArchive& layer) {
    FLYBALL_ASSIGN(ContentDescriptor descriptor, layer.Finish());
    config_.diff_ids.push_back(descriptor.digest);
    manifest_.layers.push_back(std::move(descriptor));
    return {};
  }

  Status Do(const DockerfileStep& step) {
    const auto& words = step.arguments;
    if (step.instruction == "FROM") return From(words);
    if (step.instruction == "COPY") return Copy(words);
    if (step.instruction == "ENV") return Env(words);
    if (step.instruction == "WORKDIR")
      config_.working_dir = (fs::path(Workdir()) / words[0]).lexically_normal();
    if (step.instruction == "USER") config_.user = words[0];
    if (step.instruction == "STOPSIGNAL") config_.stop_signal = words[0];
    if (step.instruction == "CMD") config_.cmd = words;
    if (step.instruction == "ENTRYPOINT") {
      config_.entrypoint = words;
      config_.cmd.clear();
    }
    // LABEL and EXPOSE change nothing that runs.
    return {};
  }

  Status From(const std::vector<std::string>& words) {
    if (words.size() != 1 || from_) return Unexpected(BadRequest("one FROM with one image is supported"));
    from_ = true;
    if (words[0] == "scratch") return {};
    FLYBALL_ASSIGN(const StoredImage base, store_.Find(words[0]));
    FLYBALL_ASSIGN(const std::string text, store_.blobs().Read(base.manifest_digest, kMaxImageDocument));
    FLYBALL_ASSIGN(manifest_, ParseImageManifest(text));
    config_ = base.config;
    return {};
  }

  Status Env(const std::vector<std::string>& words) {
    // The old form: one name and the rest of the line.
    if (words[0].find('=') == std::string::npos) {
      if (words.size() < 2) return Unexpected(BadRequest("ENV needs NAME=value"));
      std::string value;
      for (std::size_t i = 1; i < words.size(); ++i) value += (i > 1 ? " " : "") + words[i];
      SetVariable(config_.env, words[0] + "=" + value);
      return {};
    }
    for (const std::string& word : words) {
      if (word.find('=') == std::string::npos) return Unexpected(BadRequest("ENV needs NAME=value"));
      SetVariable(config_.env, word);
    }
    return {};
  }

  std::string Workdir() const { return config_.working_dir.empty() ? "/" : config_.working_dir; }

  // The path in the build folder that a source means; it may not lead out of it, by links either.
  Result<std::string> SourcePath(const std::string& source) const {
    FLYBALL_ASSIGN(const auto components, SafeComponents(source));
    const OwnedFd root(open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::string relative;
    for (const std::string& part : components) relative += (relative.empty() ? "" : "/") + part;
    const OwnedFd found = OpenInRoot(root.get(), relative.empty() ? "." : relative, O_PATH);
    if (!found) return Unexpected(BadRequest("COPY " + source + ": not in the build folder"));
    std::error_code error;
    return fs::read_symlink("/proc/self/fd/" + std::to_string(found.get()), error).string();
  }

  Status Copy(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (word.starts_with("--")) return Unexpected(BadRequest("COPY " + word + " is not supported"));
      if (word.find_first_of("*?[") != word.npos)
        return Unexpected(BadRequest("COPY " + word + ": patterns are not supported"));
    }
    const std::string& to = words.back();
    const fs::path absolute = (fs::path(Workdir()) / to).lexically_normal();
    FLYBALL_ASSIGN(const auto components, SafeComponents(absolute.string()));
    const bool into_folder = to.ends_with('/') || to.ends_with("/.") || to == "." || words.size() > 2;
    FLYBALL_ASSIGN(const auto layer, LayerArchive::New(store_.blobs(), store_.limits().max_bytes));
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      FLYBALL_ASSIGN(const std::string source, SourcePath(words[i]));
      const bool folder = fs::is_directory(source);
      const std::string name = fs::path(source).filename().string();
      FLYBALL_TRY(CopyOne(*layer, source, components, folder, into_folder ? name : ""));
    }
    return Keep(*layer);
  }

  // A folder's content goes into the target; a file becomes it, or goes into it under its own name.
  static Status CopyOne(LayerArchive& layer, const std::string& source,
                        const std::vector<std::string>& target, bool folder, const std::string& name) {
    std::string path;
    for (std::size_t i = 0; i < target.size(); ++i) {
      path += (i > 0 ? "/" : "") + target[i];
      const bool last = i + 1 == target.size();
      if (!last || folder || !name.empty()) FLYBALL_TRY(layer.AddFolder(path));
    }
    if (!folder && !name.empty()) path += (path.empty() ? "" : "/") + name;
    return layer.AddTree(source, path);
  }

  std::string ConfigText() const {
    json::Object config{{"Env", ArrayOf(config_.env)}};
    if (!config_.user.empty()) config.Set("User", config_.user);
    if (!config_.working_dir.empty()) config.Set("WorkingDir", config_.working_dir);
    if (!config_.stop_signal.empty()) config.Set("StopSignal", config_.stop_signal);
    if (!config_.entrypoint.empty()) config.Set("Entrypoint", ArrayOf(config_.entrypoint));
    if (!config_.cmd.empty()) config.Set("Cmd", ArrayOf(config_.cmd));
    return json::Write(
        json::Object{{"architecture", MachineArchitecture()},
                     {"os", "linux"},
                     {"config", std::move(config)},
                     {"rootfs", json::Object{{"type", "layers"}, {"diff_ids", ArrayOf(config_.diff_ids)}}}});
  }

  ImageStore& store_;
  const std::string folder_;
  ImageManifest manifest_;
  ImageConfig config_;
  bool from_ = false;
};

Result<std::string> BuildIn(ImageStore& store, const std::string& folder, const std::string& name) {
  ImageBuild build(store, folder);
  const std::string dockerfile = folder + "/" + kDockerfileName;
  if (access(dockerfile.c_str(), F_OK) != 0) {
    FLYBALL_TRY(build.TakeFolder());
  } else {
    FLYBALL_ASSIGN(const std::string text, ReadFile(dockerfile));
    FLYBALL_ASSIGN(const auto steps, ParseDockerfile(text));
    FLYBALL_TRY(build.Run(steps));
  }
  return build.Finish(name);
}

}  // namespace

Result<std::string> BuildImage(ImageStore& store, const std::string& folder, const std::string& name) {
  FLYBALL_ASSIGN(const ImageReference reference, ImageReference::Parse(name));
  if (!reference.digest.empty())
    return Unexpected(BadRequest("an image is built under a name, not a digest"));
  std::error_code error;
  if (!fs::is_directory(folder, error)) return Unexpected(BadRequest(folder + ": not a folder"));
  Result<std::string> built = std::string();
  {
    const ImageWriting writing = store.BeginWriting();
    built = BuildIn(store, fs::canonical(folder).string(), reference.Name());
  }
  FLYBALL_TRY(store.CollectGarbage());
  return built;
}

}  // namespace flyball::node
