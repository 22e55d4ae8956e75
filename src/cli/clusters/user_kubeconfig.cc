#include "cli/clusters/user_kubeconfig.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/files/durable_file.h"
#include "base/run/clock.h"
#include "base/run/thread.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/external_program.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

constexpr Duration kLockWait = std::chrono::seconds(3);

json::Value* EntryNamed(json::Value& config, const char* list, std::string_view name) {
  json::Value* entries = config.Find(list);
  if (!entries || !entries->is_array()) return nullptr;
  for (json::Value& entry : entries->as_array())
    if (std::as_const(entry)["name"].string_or("") == name) return &entry;
  return nullptr;
}

void PutEntry(json::Value& config, const char* list, const char* field, const std::string& name,
              json::Value value) {
  if (json::Value* entry = EntryNamed(config, list, name)) {
    (*entry)[field] = std::move(value);
    return;
  }
  if (!std::as_const(config)[list].is_array()) config[list] = json::Array();
  config[list].as_array().emplace_back(json::Object{{field, std::move(value)}, {"name", name}});
}

void RemoveEntry(json::Value& config, const char* list, std::string_view name) {
  if (!std::as_const(config)[list].is_array()) return;
  json::Array kept;
  for (const json::Value& entry : Elements(std::as_const(config)[list]))
    if (entry["name"].string_or("") != name) kept.push_back(entry);
  config[list] = std::move(kept);
}

json::Value FirstOf(const json::Value& from, const char* list, const char* field) {
  const json::Array& entries = Elements(from[list]);
  return entries.empty() ? json::Value(json::Object()) : entries[0][field];
}

// kubectl's lock: a file that only one can make.
class FileLock {
 public:
  static Result<FileLock> Take(const std::string& path) {
    const std::string lock = path + ".lock";
    const SteadyTime deadline = RealClock().Steady() + kLockWait;
    for (;;) {
      const int file = ::open(lock.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (file >= 0) {
        ::close(file);
        return FileLock(lock);
      }
      if (errno != EEXIST)
        return Unexpected(
            LocalError("cannot write " + lock + "; set KUBECONFIG to a file in a folder of yours"));
      if (RealClock().Steady() > deadline)
        return Unexpected(LocalError(path + " is locked; remove " + lock + " if no program is changing it"));
      SleepFor(std::chrono::milliseconds(50));
    }
  }
  FileLock(FileLock&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  explicit FileLock(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

std::string UserKubeconfigPath() {
  const std::string list = FromEnvironment({"KUBECONFIG"}, FromEnvironment({"HOME"}, "") + "/.kube/config");
  return list.substr(0, list.find(':'));
}

void AddContext(json::Value& config, const json::Value& from, const std::string& name) {
  const json::Value* before = EntryNamed(config, "contexts", name);
  const std::string ns(before ? (*before)["context"]["namespace"].string_or("") : "");
  const bool current = !before || std::as_const(config)["current-context"].string_or("").empty();
  PutEntry(config, "clusters", "cluster", name, FirstOf(from, "clusters", "cluster"));
  PutEntry(config, "users", "user", name, FirstOf(from, "users", "user"));
  json::Value context = json::Object{{"cluster", name}, {"user", name}};
  if (!ns.empty()) context["namespace"] = ns;
  PutEntry(config, "contexts", "context", name, std::move(context));
  if (current) config["current-context"] = name;
  if (std::as_const(config)["apiVersion"].is_null()) config["apiVersion"] = "v1";
  if (std::as_const(config)["kind"].is_null()) config["kind"] = "Config";
}

void RemoveContext(json::Value& config, const std::string& name) {
  for (const char* list : {"clusters", "users", "contexts"}) RemoveEntry(config, list, name);
  if (std::as_const(config)["current-context"].string_or("") == name) config["current-context"] = "";
}

bool UseContextNamed(json::Value& config, const std::string& name) {
  if (!EntryNamed(config, "contexts", name)) return false;
  config["current-context"] = name;
  return true;
}

Status ChangeKubeconfig(const std::string& path, const std::function<void(json::Value&)>& change) {
  std::error_code ec;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ec);
  FLYBALL_ASSIGN(const FileLock lock, FileLock::Take(path));
  json::Value config = json::Object();
  if (std::filesystem::exists(path, ec)) {
    FLYBALL_ASSIGN(const std::string text, ReadFile(path));
    auto parsed = json::ParseYaml(text);
    if (!parsed || !(parsed->is_object() || parsed->is_null()))
      return Unexpected(LocalError(path + " is no kubeconfig: mend it, or set KUBECONFIG to another file"));
    if (parsed->is_object()) config = std::move(*parsed);
  }
  change(config);
  return WriteFileDurably(path, json::WriteYaml(config));
}

}  // namespace flyball::cli
