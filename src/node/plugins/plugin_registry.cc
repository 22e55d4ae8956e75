#include "node/plugins/plugin_registry.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/observe/log.h"
#include "net/grpc/grpc_channel.h"
#include "node/plugins/spare_thread.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// Upstream: the time for GetInfo; notifyTimeoutDuration.
constexpr Duration kInfoTimeout = std::chrono::seconds(1);
constexpr Duration kNotifyTimeout = std::chrono::seconds(5);
// Upstream: goroutinemap's exponential back-off.
constexpr Duration kFirstRegisterRetry = std::chrono::milliseconds(500);
constexpr Duration kLastRegisterRetry = std::chrono::seconds(122);

Duration RegisterRetryAfter(int failures) {
  Duration delay = kFirstRegisterRetry;
  for (int i = 1; i < failures && delay < kLastRegisterRetry; ++i) delay *= 2;
  return std::min(delay, kLastRegisterRetry);
}

}  // namespace

void PluginRegistry::Handle(const std::string& type, std::shared_ptr<PluginHandler> handler) {
  handlers_[type] = std::move(handler);
}

Status PluginRegistry::Start() {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return Unexpected(InternalError(folder_ + ": " + error.message()));
  executor_.Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Scan();
  });
  return {};
}

void PluginRegistry::Stop() {
  {
    MutexLock lock(mu_);
    stopped_ = true;
  }
  watcher_.Stop();
}

void PluginRegistry::ScanFolder(const std::string& folder, std::map<std::string, Identity>& found) {
  bool news = false;
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    news = watched_.insert(folder).second;
  }
  // Before it is read: what appears meanwhile is seen by one or the other.
  if (news) {
    const Status watched = watcher_.Watch({folder + "/"}, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Scan();
    });
    if (!watched) log::Warning("plugins are not watched", {{"error", watched.error().message()}});
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    struct stat info {};
    if (entry.path().filename().string().starts_with('.') || lstat(entry.path().c_str(), &info) != 0)
      continue;
    if (S_ISDIR(info.st_mode)) ScanFolder(entry.path().string(), found);
    if (S_ISSOCK(info.st_mode))
      found[entry.path().string()] = {info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
  }
}

void PluginRegistry::Scan() {
  std::map<std::string, Identity> found;
  ScanFolder(folder_, found);
  MutexLock lock(mu_);
  if (stopped_) return;
  for (auto& [path, socket] : sockets_) {
    const auto there = found.find(path);
    if (there == found.end() || !(there->second == socket.identity)) socket.gone = true;
  }
  for (const auto& [path, identity] : found) {
    const auto [at, news] = sockets_.try_emplace(path);
    if (news) at->second.identity = identity;
  }
  std::vector<std::string> paths;
  for (const auto& [path, socket] : sockets_) paths.push_back(path);
  for (const std::string& path : paths) Advance(path);
}

void PluginRegistry::Advance(const std::string& path) {
  const auto at = sockets_.find(path);
  if (stopped_ || at == sockets_.end() || at->second.busy) return;
  Socket& socket = at->second;
  if (!socket.gone && socket.registered) return;
  const bool soon = socket.gone || socket.failures == 0;
  socket.busy = true;
  executor_.PostAfter(soon ? Duration::zero() : RegisterRetryAfter(socket.failures),
                      [weak = weak_from_this(), path] {
                        if (const auto self = weak.lock()) self->Work(path);
                      });
}

void PluginRegistry::Work(const std::string& path) {
  Socket before;
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    before = sockets_[path];
  }
  const SpareThread spare(executor_);
  if (before.gone) {
    if (before.registered) before.registered->Deregister(before.plugin);
    {
      MutexLock lock(mu_);
      sockets_.erase(path);
    }
    return Scan();  // another may be there under the same name
  }
  PluginInfo plugin;
  std::shared_ptr<PluginHandler> handler;
  const Status done = RegisterAt(path, plugin, handler);
  if (!done) log::Warning("plugin not registered", {{"socket", path}, {"error", done.error().message()}});
  MutexLock lock(mu_);
  Socket& socket = sockets_[path];
  socket.busy = false;
  socket.plugin = std::move(plugin);
  if (done) socket.registered = std::move(handler);
  socket.failures = done ? 0 : socket.failures + 1;
  Advance(path);
}

Status PluginRegistry::RegisterAt(const std::string& path, PluginInfo& plugin,
                                  std::shared_ptr<PluginHandler>& handler) {
  FLYBALL_ASSIGN(const auto channel, net::GrpcChannel::Make("unix://" + path));
  FLYBALL_ASSIGN(const std::string answer,
                 channel->Call(kGetPluginInfoMethod, "", {.timeout = kInfoTimeout, .wait_for_ready = true}));
  FLYBALL_ASSIGN(plugin, DecodePluginInfo(answer));
  if (plugin.endpoint.empty()) plugin.endpoint = path;
  const auto notify = [&](const std::string& error) -> Status {
    FLYBALL_TRY(channel->Call(kNotifyRegistrationMethod, RegistrationStatusMessage(error),
                              {.timeout = kNotifyTimeout}));
    return {};
  };
  // As upstream, down to the words: registrars log them.
  const auto refuse = [&](const std::string& error) -> Status {
    FLYBALL_TRY(notify(error));
    return Unexpected(InternalError(error));
  };
  const auto known = handlers_.find(plugin.type);
  if (known == handlers_.end())
    return refuse("RegisterPlugin error -- no handler registered for plugin type: " + plugin.type +
                  " at socket " + path);
  if (const Status valid = known->second->Validate(plugin); !valid)
    return refuse("RegisterPlugin error -- plugin validation failed with err: " + valid.error().message());
  if (const Status registered = known->second->Register(plugin); !registered)
    return refuse("RegisterPlugin error -- plugin registration failed with err: " +
                  registered.error().message());
  if (const Status told = notify(""); !told) {
    known->second->Deregister(plugin);
    return told;
  }
  handler = known->second;
  log::Info("plugin registered",
            {{"type", plugin.type}, {"name", plugin.name}, {"endpoint", plugin.endpoint}});
  return {};
}

}  // namespace flyball::node
