// ContainerRuntime: what runs containers for the node agent. `sim` only says that they run; `native` starts a
// real process for each.
//
// A container is started once and ends once; a restart is a new container with a new id.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/types/core.h"
#include "base/run/clock.h"
#include "base/run/executor.h"
#include "base/values/result.h"
#include "base/values/unique_function.h"
#include "node/runtime/pod_names.h"
#include "node/stats/usage.h"

namespace flyball::node {

// A folder or file of the machine that a container sees.
struct ContainerMount {
  std::string source;  // on the machine
  std::string target;  // in the container
  bool read_only = false;
  bool recursive_read_only = false;  // with what is mounted below it
  std::string propagation{};         // "", "None", "HostToContainer" or "Bidirectional"
};

// A device of the machine that a container may use.
struct ContainerDevice {
  std::string source, target;  // on the machine, and in the container
  std::string access;          // of "rwm"
};

struct ContainerConfig {
  std::string pod_namespace, pod_name, pod_uid;
  std::string name;   // of the container
  int attempt = 0;    // how often it was started before
  std::string image;  // as FindImage took it
  std::vector<std::string> command, args;
  std::string working_dir;
  bool stdin = false, stdin_once = false, tty = false;
  std::vector<std::pair<std::string, std::string>> env;
  std::map<std::string, std::string> annotations;  // of the pod
  bool runs_to_completion = false;                 // an init container, or of a Job: it is expected to end
  // What else they say, for runtimes that isolate. The spec may be null in tests of runtimes that do not.
  std::shared_ptr<const Pod> pod{};
  std::shared_ptr<const Container> spec{};
  std::vector<ContainerMount> mounts{};
  std::vector<ContainerDevice> devices{};
  std::map<std::string, std::string> runtime_annotations{};  // of the container, for the runtime
  // The pod's own network: where it is bound to, and its addresses. Without: the machine's network.
  std::string network_namespace{};
  std::vector<std::string> pod_ips{};
  ClusterDns dns{};
};

// Who one is to a registry.
struct RegistryCredentials {
  std::string registry;  // "https://index.docker.io/v1/", "localhost:5000/team", "*.example.com"
  std::string user{}, password{};
  std::string identity_token{};  // instead of a password
  // Of a pod's imagePullSecrets: what needed it to be pulled is not for other pods.
  bool of_pod = false;
};

struct ImageRequest {
  std::string image;        // as the pod has it
  std::string pull_policy;  // Always, IfNotPresent or Never
  std::vector<RegistryCredentials> credentials{};
};

struct ReadyImage {
  std::string id;
  std::int64_t size = 0;
};

// A container that an agent before this one has started.
struct AdoptedContainer {
  std::string id;
  int attempt = 0;
  TimePoint started_at;
};

struct ContainerExit {
  int exit_code = 0;  // 128 + signal if a signal ended it
  int signal = 0;
  std::string reason;  // "Completed", "Error"; empty: by the exit code
  std::string message;
};

struct ExecResult {
  int exit_code = 0;
  bool timed_out = false;
  std::string output;  // both streams, cut off after a few kilobytes
};

enum class Stream { kStdout, kStderr };

struct TerminalSize {
  unsigned short width = 0, height = 0;
};

// What a client wants of a process' standard streams.
struct StreamRequest {
  std::vector<std::string> command;  // empty for attach
  bool stdin = false, stdout = false, stderr = false, tty = false;
};

// Called from any thread, one at a time; must not block.
struct StreamEvents {
  std::function<void(Stream stream, std::string_view data)> output;
  // So many bytes given to WriteInput have been taken, or will never be.
  std::function<void(std::size_t bytes)> input_taken;
  // Once, last: the process has ended.
  std::function<void(const ContainerExit& exit)> ended;
};

// A client's hold on the standard streams of a process. Thread-safe. Dropping it does nothing.
class StreamHandle {
 public:
  virtual ~StreamHandle() = default;
  virtual void WriteInput(std::string data) = 0;
  virtual void CloseInput() = 0;
  virtual void Resize(TerminalSize size) = 0;
  // Holds back what the process writes. False: that is not possible here, others read it too.
  virtual bool PauseOutput(bool paused) = 0;
  // The client is gone: an exec is killed, an attached container let go.
  virtual void Stop() = 0;
};

// What to read of a container's log.
struct LogQuery {
  std::string pod_namespace, pod_name, pod_uid, container;
  int attempt = 0;
  bool follow = false, timestamps = false;
  std::int64_t tail_lines = -1;  // -1: all
  std::int64_t limit_bytes = -1;
  TimePoint since{};  // lines before are left out
};
// Told of a log's text. Return false to have no more. `done` is called once, at the end, unless that was so.
struct LogSink {
  std::function<bool(std::string text)> write;
  // True if the one who reads is behind: `ready` is called once when it has caught up or is gone. Null:
  // never.
  std::function<bool(Closure ready)> wait{};
  std::function<void(const Status& status)> done;
};

// A running container whose use is asked for.
struct UsageQuery {
  std::string id;
  std::shared_ptr<const Pod> pod;  // as it is now
  std::string container;
  TimePoint started_at{};
};

inline constexpr char kStartErrorCause[] = "StartError";

// Thread-safe. No method blocks for longer than starting a process takes, but for those of executor().
class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;

  virtual std::string_view name() const = 0;     // "native"; the scheme of container ids
  virtual std::string_view version() const = 0;  // "native://0.1.0"
  // False: nothing really runs, so probes succeed without being sent.
  virtual bool real() const = 0;

  // Where the volumes of pods are made; empty: containers of this runtime have none.
  virtual std::string volumes_folder() const { return {}; }
  // Where FindImage and Start are to be called, because they block. Null: they do not.
  virtual Executor* executor() { return nullptr; }
  // Where PullImage is to be called. Null: this runtime pulls nothing.
  virtual Executor* pull_executor() { return nullptr; }

  // An image that is here and may be used as it is; nothing if it is not here, or has to be pulled: by its
  // policy, or because others' credentials have fetched it. BadRequest if its name is none.
  virtual Result<std::optional<ReadyImage>> FindImage(const ImageRequest& request) = 0;
  // Fetches it from its registry. Blocks for as long as that takes.
  virtual Result<ReadyImage> PullImage(const ImageRequest& request) {
    return Unexpected(Error(Reason::kNotFound, "image \"" + request.image + "\" is not on this node"));
  }

  // Mounts the files of an image that FindImage or PullImage has returned at the path, read-only, for a
  // volume of the pod, unless they are there already; RemovePod unmounts them. To be called where PullImage
  // is.
  virtual Status MountImage(const std::string& pod_uid, const std::string& volume, const std::string& image,
                            const std::string& path) {
    (void)pod_uid;
    (void)volume;
    (void)path;
    return Unexpected(BadRequest("image \"" + image + "\": this node has no image volumes"));
  }

  // Starts; `exited` is called once, from any thread, when it has ended. The id is unique for ever.
  // BadRequest: the configuration cannot work; others: starting failed, with the cause kStartErrorCause if it
  // was the container's own program that could not be executed.
  virtual Result<std::string> Start(const ContainerConfig& config,
                                    UniqueFunction<void(ContainerExit)> exited) = 0;
  // The latest container of that name that an agent before this one started and this one does not know yet;
  // `exited` is called as by Start, also if it has ended meanwhile; without one this only asks. Nothing if
  // there is none.
  virtual std::optional<AdoptedContainer> Adopt(const std::string& pod_uid, const std::string& container,
                                                UniqueFunction<void(ContainerExit)> exited) {
    (void)pod_uid;
    (void)container;
    (void)exited;
    return std::nullopt;
  }
  // These are all pods of the node: what others have left is removed.
  virtual void KeepOnly(const std::string& node, const std::set<std::string>& pod_uids) {
    (void)node;
    (void)pod_uids;
  }
  // The signal that asks a container to end: its image's, or SIGTERM.
  virtual int StopSignal(const std::string& id) {
    (void)id;
    return SIGTERM;
  }
  // To every process of the container. Nothing if it has ended.
  virtual void Signal(const std::string& id, int signal) = 0;
  // Runs a command beside the container.
  virtual void Exec(const std::string& id, const std::vector<std::string>& command, Duration timeout,
                    UniqueFunction<void(Result<ExecResult>)> done) = 0;

  // Runs a command beside the container: with its environment and directory, as its user. NotFound if the
  // container does not run; BadRequest if the command cannot be started.
  virtual Result<std::shared_ptr<StreamHandle>> OpenExec(const std::string& id, const StreamRequest& request,
                                                         StreamEvents events) = 0;
  // The streams of the container's own process, from now on. NotFound if it does not run.
  virtual Result<std::shared_ptr<StreamHandle>> Attach(const std::string& id, const StreamRequest& request,
                                                       StreamEvents events) = 0;

  // What the container of the pod may use is from now on what its spec says. To be called where Start is.
  virtual Status Resize(const std::string& id, const Pod& pod, const Container& spec) {
    (void)id;
    (void)pod;
    (void)spec;
    return {};
  }
  // What these containers use now, by id; without those that have ended. To be called where Start is.
  virtual std::map<std::string, ResourceUsage> UsageOf(const std::vector<UsageQuery>& containers,
                                                       TimePoint now) = 0;
  // The folders in which what the container writes to its own files and its logs are; empty: it has none.
  struct WrittenFolders {
    std::string files, logs;
  };
  virtual WrittenFolders WrittenBy(const std::string& id) {
    (void)id;
    return {};
  }
  // Removes images that nobody uses, if the disk is nearly full or they have been idle for long. To be called
  // where Start is, now and then.
  virtual Status CollectImages() { return {}; }
  // Removes all that nobody uses and that can be pulled again.
  virtual Status RemoveUnusedImages() { return {}; }
  // The cgroup all containers of the pod are in; empty: there is none.
  virtual std::string CgroupOf(const Pod& pod) const {
    (void)pod;
    return {};
  }

  virtual void ReadLog(const LogQuery& query, LogSink sink) = 0;
  // The address that pods get which have no network of their own: one each, or the node's.
  virtual std::string AllocatePodIp(const std::string& pod_uid) = 0;
  // Whether a client may be connected with the port at the pod's address. Where pods share the machine's
  // network, only with ports at which the pod itself listens: others are the machine's.
  virtual bool MayForwardTo(const std::string& pod_uid, int port) {
    (void)pod_uid;
    (void)port;
    return true;
  }
  // The pod is gone: its directories, logs and address too.
  virtual void RemovePod(const std::string& pod_namespace, const std::string& pod_name,
                         const std::string& pod_uid) = 0;
  // Kills everything and waits for it.
  virtual void Shutdown() = 0;
};

}  // namespace flyball::node
