#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/files/temporary_folder.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/streams/remote_command.h"
#include "cli/kubectl/streams/tar_file.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

const KindRef kCopyPods{"", "v1", "Pod", "pods", true};

struct CopyFlags {
  std::vector<std::string> args;
  std::string container;
  bool no_preserve = false;
  int retries = 0;  // of a copy from a container; less than 0: without end
};

// [[namespace/]pod:]path. Without a pod it is a path here.
struct FileSpec {
  std::string ns, pod, path;
};

Result<FileSpec> ParseSpec(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return FileSpec{"", "", text};
  const Error bad = LocalError("filespec must match the canonical format: [[namespace/]pod:]file/path");
  const std::string pod = text.substr(0, colon), path = text.substr(colon + 1);
  const std::size_t slash = pod.find('/');
  if (pod.empty() || pod.find('/', slash == std::string::npos ? 0 : slash + 1) != std::string::npos)
    return Unexpected(bad);
  if (slash == std::string::npos) return FileSpec{"", pod, path};
  if (slash == 0 || slash + 1 == pod.size()) return Unexpected(bad);
  return FileSpec{pod.substr(0, slash), pod.substr(slash + 1), path};
}

// A file for an archive that nobody else sees.
class Scratch {
 public:
  static Result<Scratch> Make() {
    FLYBALL_ASSIGN(TemporaryFolder folder, TemporaryFolder::Make());
    const int descriptor =
        ::open((folder.path() / "archive.tar").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) return Unexpected(LocalError("cannot write to " + folder.path().string()));
    return Scratch(std::move(folder), descriptor);
  }
  Scratch(Scratch&& other) noexcept
      : folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  void Rewind() const { ::lseek(descriptor_, 0, SEEK_SET); }

 private:
  Scratch(TemporaryFolder folder, int descriptor) : folder_(std::move(folder)), descriptor_(descriptor) {}

  TemporaryFolder folder_;
  int descriptor_;
};

class Copy {
 public:
  Copy(Session& session, const CopyFlags& flags, const FileSpec& remote)
      : session_(session),
        flags_(flags),
        ns_(remote.ns.empty() ? session.ns() : remote.ns),
        pod_(remote.pod) {}

  Status FindContainer() {
    FLYBALL_ASSIGN(const json::Value pod, session_.Get(kCopyPods, ns_, pod_));
    container_ = flags_.container;
    const json::Array& containers = Elements(pod["spec"]["containers"]);
    if (container_.empty() && !containers.empty()) container_ = containers[0]["name"].string_or("");
    if (flags_.container.empty() && containers.size() > 1)
      session_.err() << "Defaulted container \"" << container_ << "\"\n";
    return {};
  }

  Status Download(const std::string& from, const std::string& to) {
    if (from.empty() || to.empty()) return Unexpected(LocalError("filepath can not be empty"));
    FLYBALL_ASSIGN(const Scratch scratch, Scratch::Make());
    FLYBALL_TRY(Fetch(from, scratch));
    scratch.Rewind();
    std::error_code ec;
    const std::string target = fs::is_directory(to, ec) ? (fs::path(to) / BaseName(from)).string() : to;
    return ReadTar(scratch.descriptor(), Relative(from), target,
                   [&](const std::string& link, const std::string& there) {
                     session_.err() << "warning: skipping symlink: \"" << link << "\" -> \"" << there
                                    << "\" (consider using \"kubectl exec -n \"" << ns_ << "\" \"" << pod_
                                    << "\" -- tar cf - \"" << from << "\" | tar xf -\")\n";
                   });
  }

  Status Upload(const std::string& from, const std::string& to) {
    if (from.empty() || to.empty()) return Unexpected(LocalError("filepath can not be empty"));
    std::error_code ec;
    if (!fs::exists(fs::symlink_status(from, ec)))
      return Unexpected(LocalError(from + " doesn't exist in local filesystem"));
    fs::path target = fs::path(to).lexically_normal();
    if (!target.has_filename()) target = target.parent_path();
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    const auto is_folder = Exec({"test", "-d", target.string()}, {.output = nowhere});
    ::close(nowhere);
    if (!is_folder) return Unexpected(is_folder.error());
    if (*is_folder == 0) target /= BaseName(from);
    FLYBALL_ASSIGN(const Scratch scratch, Scratch::Make());
    FLYBALL_TRY(WriteTar(scratch.descriptor(), from, target.filename().string()));
    scratch.Rewind();
    std::vector<std::string> command{"tar", "-xmf", "-"};
    if (flags_.no_preserve) command = {"tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-"};
    if (const std::string folder = target.parent_path().string(); !folder.empty()) {
      command.emplace_back("-C");
      command.push_back(folder);
    }
    FLYBALL_ASSIGN(const int code, Exec(command, {.in = true, .input = scratch.descriptor()}));
    return code == 0 ? Status() : Failed(code);
  }

 private:
  static std::string BaseName(const std::string& path) {
    fs::path normal = fs::path(path).lexically_normal();
    if (!normal.has_filename()) normal = normal.parent_path();
    return normal.filename().string();
  }
  // The archive of a path. With --retries, a stream that breaks off is asked for again from where it broke.
  Status Fetch(const std::string& from, const Scratch& scratch) {
    for (int retry = 0;; ++retry) {
      const auto at = ::lseek(scratch.descriptor(), 0, SEEK_END);
      std::vector<std::string> command{"tar", "cf", "-", from};
      if (flags_.retries != 0)
        command = {"sh", "-c", "tar cf - " + Quoted(from) + " | tail -c+" + std::to_string(at + 1)};
      const auto code = Exec(command, {.output = scratch.descriptor()});
      if (code) return *code == 0 ? Status() : Failed(*code);
      if (flags_.retries >= 0 && retry >= flags_.retries) {
        if (flags_.retries > 0) session_.out() << "Dropping out copy after " << retry << " retries\n";
        return Unexpected(code.error());
      }
      session_.out() << "Resuming copy at " << ::lseek(scratch.descriptor(), 0, SEEK_END) << " bytes, retry "
                     << retry + 1 << "/" << flags_.retries << "\n";
    }
  }
  // For a shell.
  static std::string Quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
  // As tar names it: without the leading slash.
  static std::string Relative(const std::string& path) {
    std::string text = fs::path(path).lexically_normal().string();
    while (text.size() > 1 && text.ends_with('/')) text.pop_back();
    text.erase(0, text.find_first_not_of('/'));
    return text == "." ? "" : text;
  }
  static Status Failed(int code) {
    return Unexpected(LocalError("command terminated with exit code " + std::to_string(code)));
  }

  Result<int> Exec(const std::vector<std::string>& command, const RemoteStreams& streams) {
    RestRequest request;
    request.path = kCopyPods.Path(ns_, pod_, "exec");
    request.Query("container", container_);
    for (const std::string& word : command) request.Query("command", word);
    if (streams.in) request.Query("stdin", "true");
    request.Query("stdout", "true");
    request.Query("stderr", "true");
    return RunRemote(session_, std::move(request), streams);
  }

  Session& session_;
  const CopyFlags& flags_;
  const std::string ns_, pod_;
  std::string container_;
};

Status RunCopy(Session& session, const CopyFlags& flags) {
  if (flags.args.size() != 2) return Unexpected(LocalError("source and destination are required"));
  FLYBALL_ASSIGN(const FileSpec from, ParseSpec(flags.args[0]));
  FLYBALL_ASSIGN(const FileSpec to, ParseSpec(flags.args[1]));
  if (!from.pod.empty() && !to.pod.empty())
    return Unexpected(LocalError("one of src or dest must be a local file specification"));
  if (from.pod.empty() && to.pod.empty())
    return Unexpected(LocalError("one of src or dest must be a remote file specification"));
  const bool down = !from.pod.empty();
  Copy copy(session, flags, down ? from : to);
  FLYBALL_TRY(copy.FindContainer());
  return down ? copy.Download(from.path, to.path) : copy.Upload(from.path, to.path);
}

}  // namespace

void AddCopyCommand(const Command& root) {
  auto flags = std::make_shared<CopyFlags>();
  const Command command = root.Sub("cp", "Copy files to and from containers; they need tar",
                                   "flyball cp web-0:/etc/nginx ./nginx\n  flyball cp page.html web-0:/srv/");
  command.Args("FROM TO", &flags->args, "[[namespace/]pod:]path, twice");
  command.Option("-c,--container", &flags->container, "Which container; the first, if none is given");
  command.Option("--retries", &flags->retries,
                 "How often a copy from a container goes on where it broke off; less than 0: without end");
  command.Flag("--no-preserve", &flags->no_preserve, "Do not keep owners and modes in the container");
  RunVerb(command, [flags](Session& session) { return RunCopy(session, *flags); });
}

}  // namespace flyball::cli
