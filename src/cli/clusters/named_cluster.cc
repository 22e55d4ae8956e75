#include "cli/clusters/named_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/files/durable_file.h"
#include "base/observe/progress.h"
#include "base/run/clock.h"
#include "base/run/thread.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/external_program.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 40;
constexpr Duration kReadyWithin = std::chrono::seconds(120);
constexpr Duration kStoppedWithin = std::chrono::seconds(30);
constexpr Duration kPollInterval = std::chrono::milliseconds(50);
constexpr Duration kNodesReadyWithin = std::chrono::seconds(30);

std::string ClustersFolder() {
  const std::string home = FromEnvironment({"HOME"}, "");
  return FromEnvironment({"XDG_DATA_HOME"}, home + "/.local/share") + "/flyball/clusters";
}

bool IsClusterName(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kLongestName && letter(name.front()) && letter(name.back()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || c == '-'; });
}

struct flock WholeFile(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

// What was written to the file since `from`.
std::string TextSince(const std::string& path, std::uintmax_t from) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(from));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Runs this program in a session of its own, with its output in the file.
Result<pid_t> Spawn(const std::vector<std::string>& arguments, const std::string& log) {
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (out < 0) return Unexpected(LocalError("cannot write " + log));
  std::vector<std::string> words{"flyball"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execv("/proc/self/exe", raw.data());
    ::_exit(127);
  }
  ::close(out);
  if (child < 0) return Unexpected(LocalError("cannot start a process"));
  return child;
}

// Until the log has the text behind that place, but not for ever: nodes that are late come later.
void WaitForText(const char* text, const std::string& log, std::uintmax_t from) {
  const SteadyTime deadline = RealClock().Steady() + kNodesReadyWithin;
  while (TextSince(log, from).find(text) == std::string::npos && RealClock().Steady() < deadline)
    SleepFor(kPollInterval);
}

// What a cluster that starts is waited for, and since when.
class StartProgress {
 public:
  explicit StartProgress(std::string name) : name_(std::move(name)) {}
  void NowWaitFor(const char* what) { what_ = what; }

 private:
  std::string Text() const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(RealClock().Steady() - since_);
    return "starting cluster \"" + name_ + "\": waiting for " + what_.load() + ", " +
           std::to_string(seconds.count()) + " s";
  }

  const std::string name_;
  const SteadyTime since_ = RealClock().Steady();
  std::atomic<const char*> what_ = "the API server";
  ProgressTicker ticker_{[this] { return Text(); }};
};

}  // namespace

std::string ClusterSettings::Flag(const std::string& name, const std::string& fallback) const {
  const auto found = flags.find(name);
  return found == flags.end() || found->second.empty() ? fallback : found->second.back();
}

std::vector<std::string> ClusterSettings::Words() const {
  std::vector<std::string> words;
  for (const auto& [name, values] : flags)
    for (const std::string& value : values) words.push_back(name + "=" + value);
  return words;
}

Result<NamedCluster> NamedCluster::Named(const std::string& name) {
  if (!IsClusterName(name))
    return Unexpected(LocalError(
        "\"" + name + "\" is no name for a cluster: use lower-case letters, digits and dashes, at most 40"));
  return NamedCluster(name);
}

Result<NamedCluster> NamedCluster::Existing(const std::string& name) {
  FLYBALL_ASSIGN(NamedCluster cluster, Named(name));
  if (cluster.exists()) return cluster;
  std::string known;
  for (const NamedCluster& other : All()) known += (known.empty() ? "" : ", ") + other.name();
  return Unexpected(
      LocalError("there is no cluster \"" + name + "\"; " +
                 (known.empty() ? "'flyball up " + name + " -d' makes it" : "there are: " + known)));
}

std::vector<NamedCluster> NamedCluster::All() {
  std::vector<NamedCluster> clusters;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(ClustersFolder(), ec))
    if (entry.is_directory(ec) && IsClusterName(entry.path().filename().string()))
      clusters.push_back(NamedCluster(entry.path().filename().string()));
  std::sort(clusters.begin(), clusters.end(),
            [](const NamedCluster& a, const NamedCluster& b) { return a.name() < b.name(); });
  return clusters;
}

std::string NamedCluster::folder() const {
  return ClustersFolder() + "/" + name_;
}

bool NamedCluster::exists() const {
  std::error_code ec;
  return fs::is_directory(folder(), ec);
}

ClusterSettings NamedCluster::ReadSettings() const {
  ClusterSettings settings;
  auto text = ReadFile(folder() + "/cluster.json");
  const auto parsed = text ? json::Parse(*text) : Result<json::Value>(json::Value());
  if (!parsed || !parsed->is_object()) return settings;
  const json::Value& value = *parsed;
  settings.port = static_cast<int>(value["port"].int_or(0));
  settings.kubeconfig = value["kubeconfig"].string_or("");
  if (!value["flags"].is_object()) return settings;
  for (const auto& [name, values] : value["flags"].as_object()) {
    if (!values.is_array()) continue;
    for (const json::Value& item : values.as_array())
      settings.flags[std::string(name)].emplace_back(item.string_or(""));
  }
  return settings;
}

Status NamedCluster::WriteSettings(const ClusterSettings& settings) const {
  FLYBALL_TRY(MakePrivateFolder(folder()));
  json::Object flags;
  for (const auto& [name, values] : settings.flags) {
    json::Array texts;
    for (const std::string& text : values) texts.push_back(text);
    flags[name] = std::move(texts);
  }
  const json::Value value =
      json::Object{{"port", settings.port}, {"kubeconfig", settings.kubeconfig}, {"flags", std::move(flags)}};
  return WriteFileDurably(folder() + "/cluster.json", json::WritePretty(value, 2) + "\n");
}

pid_t NamedCluster::RunningPid() const {
  const int file = ::open((folder() + "/running.lock").c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return 0;
  struct flock lock = WholeFile(F_WRLCK);
  const bool asked = ::fcntl(file, F_GETLK, &lock) == 0;
  ::close(file);
  return asked && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

Status NamedCluster::MarkRunning() const {
  const std::string path = folder() + "/running.lock";
  // Stays open: the lock ends with the process.
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct flock lock = WholeFile(F_WRLCK);
  if (file >= 0 && ::fcntl(file, F_SETLK, &lock) == 0) return {};
  if (file >= 0) ::close(file);
  return Unexpected(LocalError("the cluster \"" + name_ + "\" runs already; 'flyball status " + name_ +
                               "' says where, 'flyball stop " + name_ + "' ends it"));
}

Result<pid_t> NamedCluster::StartInBackground() const {
  if (const pid_t pid = RunningPid())
    return Unexpected(
        LocalError("the cluster \"" + name_ + "\" runs already, as process " + std::to_string(pid)));
  std::error_code ec;
  const std::uintmax_t before = fs::exists(log(), ec) ? fs::file_size(log(), ec) : 0;
  FLYBALL_ASSIGN(const pid_t child, Spawn({"up", name_}, log()));
  StartProgress progress(name_);
  const SteadyTime deadline = RealClock().Steady() + kReadyWithin;
  while (RealClock().Steady() < deadline) {
    const std::string said = TextSince(log(), before);
    if (said.find(kReadyText) != std::string::npos) {
      progress.NowWaitFor("the nodes");
      WaitForText(kNodesReadyText, log(), before);
      return child;
    }
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child)
      return Unexpected(LocalError("it did not start:\n" + said));
    SleepFor(kPollInterval);
  }
  return Unexpected(
      LocalError("it is not ready after two minutes; 'flyball cluster logs " + name_ + "' may say why"));
}

Result<bool> NamedCluster::Stop() const {
  const pid_t pid = RunningPid();
  if (pid == 0) return false;
  if (::kill(pid, SIGTERM) != 0)
    return Unexpected(LocalError("process " + std::to_string(pid) + " of cluster \"" + name_ +
                                 "\" belongs to somebody else; stop it as that user"));
  const SteadyTime deadline = RealClock().Steady() + kStoppedWithin;
  while (RunningPid() == pid) {
    if (RealClock().Steady() > deadline)
      return Unexpected(LocalError("process " + std::to_string(pid) +
                                   " does not end; 'flyball cluster logs " + name_ + "' may say why"));
    SleepFor(kPollInterval);
  }
  return true;
}

Result<int> FreePort(const std::string& address, int wanted) {
  for (const int port : {wanted, 0}) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(static_cast<std::uint16_t>(port));
    if (::inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1) return wanted;
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    socklen_t size = sizeof where;
    const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&where), size) == 0 &&
                       ::getsockname(socket, reinterpret_cast<sockaddr*>(&where), &size) == 0;
    ::close(socket);
    if (bound) return ntohs(where.sin_port);
  }
  return Unexpected(LocalError("no port is free on " + address));
}

}  // namespace flyball::cli
