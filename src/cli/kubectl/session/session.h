// Session: a connection to a server for one command: the client, discovery, the selected namespace, and
// warnings printed as they arrive.
#pragma once

#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/executor.h"
#include "base/values/result.h"
#include "cli/command/command.h"
#include "client/client.h"
#include "client/discovery.h"
#include "client/watch.h"

namespace flyball {
struct ClientConfig;
}

namespace flyball::cli {

// Thread-compatible: used by one command.
class Session {
 public:
  // Reads the kubeconfig; connects with the first request.
  static Result<std::unique_ptr<Session>> Open(const Invocation& invocation);
  // The kubeconfig with what the flags say in its place.
  static Result<ClientConfig> Config(const Invocation& invocation);
  ~Session();

  // Sends the request and parses the response; the server's warnings go to standard error.
  Result<json::Value> Call(RestRequest request);
  // The same without parsing.
  Result<std::string> CallText(RestRequest request);
  // A list, asked for in chunks of chunk_size() and put together: "items", or the "rows" of a Table. If a
  // continue token has expired (410), the whole list is read again in one request, as kubectl does.
  Result<json::Value> CallList(RestRequest request);
  std::int64_t chunk_size() const { return chunk_size_; }
  void set_chunk_size(std::int64_t size) { chunk_size_ = size; }  // 0: lists are read whole
  // Starts the watch; it ends by itself after --request-timeout.
  std::shared_ptr<WatchReader> Watch(RestRequest request);
  // --request-timeout, if it was given.
  std::optional<Duration> request_timeout() const { return request_timeout_; }
  // Access to objects by the path of their kind.
  Result<json::Value> Get(const KindRef& kind, std::string_view ns, std::string_view name);
  Result<json::Value> Patch(const KindRef& kind, std::string_view ns, std::string_view name,
                            std::string_view content_type, const json::Value& patch,
                            const std::string& field_manager, std::string_view subresource = {});
  Result<json::Value> Create(const KindRef& kind, std::string_view ns, const json::Value& object,
                             const std::string& field_manager, bool dry_run = false,
                             const std::string& validation = "Strict");

  // Says it on standard error, once.
  void Warn(const std::string& text);
  // With --record: notes the command line in the object's annotation kubernetes.io/change-cause.
  void Record(json::Value& object) const;
  bool records() const { return !change_cause_.empty(); }

  // The namespace from -n, else from the context, else "default".
  const std::string& ns() const { return ns_; }
  // The same; "" for a cluster-scoped kind.
  std::string NamespaceFor(const KindRef& kind) const { return kind.namespaced ? ns_ : std::string(); }
  bool ns_given() const { return ns_given_; }
  const std::string& url() const { return url_; }
  // The verb that runs: "apply" for "kubectl apply -f x".
  std::string verb() const;
  // An error of usage, with where to find help.
  Error UsageError(const std::string& message) const;

  // What the server serves is asked for again, whatever copies there are.
  void ForgetDiscovery();
  RestMapper& mapper() { return *mapper_; }
  RestClient& rest() { return *rest_; }
  Client client() { return Client(rest_); }
  const Clock& clock() const { return executor_->clock(); }
  Executor& executor() { return *executor_; }
  std::ostream& out() { return std::cout; }
  std::ostream& err() { return std::cerr; }

  // Remembers the error, to be printed at the end; the exit status will be 1.
  void Report(Error error) { errors_.push_back(std::move(error)), failed_ = true; }
  bool failed() const { return failed_; }
  // Prints what was reported, as kubectl prints one error or several.
  void PrintErrors();
  // --warnings-as-errors: a command that succeeded with warnings fails.
  void FailOnWarnings();
  // The program's exit status, if the command succeeds: that of a remote command.
  void set_exit_code(int code) { exit_code_ = code; }
  int exit_code() const { return failed_ ? 1 : exit_code_; }

  // Blocks the calling thread for `delay`. For commands that wait for something that cannot be watched.
  void Pause(Duration delay);

 private:
  Session() = default;

  std::string ns_, url_, command_path_, change_cause_;
  bool ns_given_ = false;
  bool failed_ = false;
  int exit_code_ = 0;
  std::int64_t chunk_size_ = 500;  // kubectl's
  int verbosity_ = 0;
  std::optional<Duration> request_timeout_;
  std::string discovery_folder_;
  std::set<std::string> warned_;  // by the server
  std::set<std::string> said_;    // by Warn
  std::vector<Error> errors_;
  Metrics metrics_;
  std::unique_ptr<ThreadPool> executor_;
  std::unique_ptr<Runtime> runtime_;
  std::shared_ptr<RestClient> rest_;
  std::unique_ptr<RestMapper> mapper_;
};

// A request for a path as the user gave it, with its query.
RestRequest RawRequest(const std::string& path_and_query);

inline constexpr std::string_view kJsonPatch = "application/json-patch+json";
inline constexpr std::string_view kMergePatch = "application/merge-patch+json";
inline constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";
inline constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";

// Makes `command` a command that talks to a server: runs
// `verb` with a session. An error is printed as kubectl prints it, and the program's exit status is 1.
void RunVerb(const Command& command, std::function<Status(Session&)> verb);

}  // namespace flyball::cli
