// PluginRegistry: plugins that register by a socket in a folder, usually <root>/plugins_registry (upstream:
// kubelet's pluginmanager).
//
// Flow: for each socket that appears in the folder or below it, GetInfo -> Validate -> Register ->
// NotifyRegistrationStatus. What fails is tried again, later each time. A socket that goes, or is made anew,
// deregisters its plugin. Names that begin with a dot, and what is no socket, are left alone.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/run/executor.h"
#include "base/run/file_watcher.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "node/plugins/registration_messages.h"

namespace flyball::node {

// One type of plugins. Calls about different sockets may come at once; they may block.
class PluginHandler {
 public:
  virtual ~PluginHandler() = default;
  // Whether the plugin can be registered. Its error is told to the plugin.
  virtual Status Validate(const PluginInfo& plugin) = 0;
  virtual Status Register(const PluginInfo& plugin) = 0;
  virtual void Deregister(const PluginInfo& plugin) = 0;
};

// Thread-safe. Owned by shared_ptr.
class PluginRegistry : public std::enable_shared_from_this<PluginRegistry> {
 public:
  // Plugins are talked to on the executor, which must outlive the registry.
  PluginRegistry(std::string folder, Executor& executor) : folder_(std::move(folder)), executor_(executor) {}
  ~PluginRegistry() { Stop(); }

  // Plugins of this type are told to the handler. Before Start.
  void Handle(const std::string& type, std::shared_ptr<PluginHandler> handler);
  // Makes the folder and begins to watch it.
  Status Start();
  // Nothing is registered any more. Idempotent. Not to be called from a handler.
  void Stop();

 private:
  // What tells a socket from one that was made anew under its name.
  struct Identity {
    std::uint64_t inode = 0;
    std::int64_t seconds = 0, nanos = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Socket {
    Identity identity;
    bool busy = false;  // somebody talks to its plugin
    bool gone = false;  // to be forgotten, and deregistered if it is registered
    PluginInfo plugin;
    std::shared_ptr<PluginHandler> registered;  // with whom; null: not, or not yet
    int failures = 0;
  };

  void Scan();
  void ScanFolder(const std::string& folder, std::map<std::string, Identity>& found);
  // Continues with what is due for the socket.
  void Advance(const std::string& path) FLYBALL_REQUIRES(mu_);
  void Work(const std::string& path);
  Status RegisterAt(const std::string& path, PluginInfo& plugin, std::shared_ptr<PluginHandler>& handler);

  const std::string folder_;
  Executor& executor_;
  std::map<std::string, std::shared_ptr<PluginHandler>> handlers_;
  FileWatcher watcher_;
  Mutex mu_;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
  std::map<std::string, Socket> sockets_ FLYBALL_GUARDED_BY(mu_);  // by path
  std::set<std::string> watched_ FLYBALL_GUARDED_BY(mu_);          // folders
};

}  // namespace flyball::node
