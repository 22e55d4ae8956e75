#include "cli/kubectl/session/session.h"

#include <algorithm>
#include <filesystem>

#include "api/values/duration.h"
#include "base/files/durable_file.h"
#include "base/run/notification.h"
#include "base/run/random.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/command/klog.h"
#include "cli/kubectl/session/external_program.h"
#include "cli/kubectl/session/missing_namespace.h"
#include "cli/kubectl/session/request_log.h"
#include "client/config.h"
#include "client/credentials.h"
#include "json/json.h"
#include "net/http/unpacking_transport.h"

namespace flyball::cli {
namespace {

// The text of a `299 - "text"` header (RFC 7234), unquoted and unescaped.
std::string WarningText(std::string_view header) {
  const std::size_t open = header.find('"');
  if (open == std::string_view::npos) return std::string(header);
  std::string text;
  for (std::size_t i = open + 1; i < header.size() && header[i] != '"'; ++i) {
    if (header[i] == '\\' && i + 1 < header.size()) ++i;
    text.push_back(header[i]);
  }
  return text;
}

// What is wrong with the kubeconfig, as kubectl says it: where it asks the file for a namespace first, the
// whole of it is validated. If the user has not configured a cluster, the error explains how to.
Error ConfigError(const ConnectionFlags& flags, const Error& error) {
  if (error.Is(Reason::kConnection)) return error;
  constexpr const char* kIn = "Error in configuration: ";
  const ErrorDetails& missing = error.details();
  if (flags.ns.empty() && missing.kind == "context")
    return PlainError(kIn + std::string("\n* context was not found for specified context: ") + missing.name +
                      "\n* cluster has no server defined");
  if (flags.ns.empty() && missing.kind == "cluster")
    return PlainError(kIn + std::string("no server found for cluster \"") + missing.name + "\"");
  const bool said = !flags.kubeconfig.empty() || !FromEnvironment({"KUBECONFIG"}, "").empty();
  return LocalError(error.message() +
                    (said || !missing.empty()
                         ? ""
                         : "\nSay where the cluster is with --kubeconfig FILE or $KUBECONFIG; "
                           "'flyball up' starts one and prints the line to type."));
}

Status Override(std::string& value, const std::string& file) {
  if (file.empty()) return {};
  auto text = ReadFile(file);
  if (!text) return Unexpected(LocalError("unable to read " + file + ": " + text.error().message()));
  value = std::move(*text);
  return {};
}

// --server, with a scheme; "" if it is not given.
std::string ServerUrl(const ConnectionFlags& flags) {
  const bool bare = !flags.server.empty() && flags.server.find("://") == std::string::npos;
  return (bare ? "http://" : "") + flags.server;
}

// What the flags say in place of the kubeconfig.
Status ApplyOverrides(const ConnectionFlags& flags, ClientConfig& config) {
  if (!flags.server.empty()) config.http.url = ServerUrl(flags);
  net::ClientTls& tls = config.http.tls;
  if (!flags.certificate_authority.empty() || !flags.client_certificate.empty() || !flags.client_key.empty())
    config.tls_source = nullptr;
  FLYBALL_TRY(Override(tls.ca_pem, flags.certificate_authority));
  FLYBALL_TRY(Override(tls.certificate_pem, flags.client_certificate));
  FLYBALL_TRY(Override(tls.private_key_pem, flags.client_key));
  if (!flags.tls_server_name.empty()) tls.server_name = flags.tls_server_name;
  if (flags.insecure) tls.insecure_skip_verify = true;
  if (!flags.token.empty()) config.credentials = BearerToken(flags.token);
  if (!flags.username.empty()) config.credentials = BasicAuth(flags.username, flags.password);
  const bool bare = flags.request_timeout.find_first_not_of("0123456789") == std::string::npos;
  const auto timeout = api::ParseDuration(flags.request_timeout + (bare ? "s" : ""));
  if (!timeout)
    return Unexpected(
        LocalError("Invalid timeout value. Timeout must be a single integer in seconds, or an integer "
                   "followed by a corresponding "
                   "time unit (e.g. 1s | 2m | 3h)"));
  if (*timeout > Duration::zero()) config.rest.timeout = *timeout;
  return {};
}

Status ApplyImpersonation(const ConnectionFlags& flags, RestOptions& rest) {
  if (!flags.as.empty()) rest.impersonate_user = flags.as;
  if (!flags.as_uid.empty()) rest.impersonate_uid = flags.as_uid;
  if (!flags.as_groups.empty()) rest.impersonate_groups = flags.as_groups;
  if (!flags.as_extra.empty()) rest.impersonate_extra.clear();
  for (const std::string& pair : flags.as_extra) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return Unexpected(LocalError("invalid --as-user-extra \"" + pair + "\": expected KEY=VALUE"));
    rest.impersonate_extra.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return {};
}

Result<ClientConfig> ConfigFor(const Invocation& invocation) {
  const ConnectionFlags& flags = invocation.connection;
  auto config = LoadKubeconfig({.path = flags.kubeconfig,
                                .context = flags.context,
                                .cluster = flags.cluster,
                                .user = flags.user,
                                .server = ServerUrl(flags),
                                .plugin_policy = invocation.plugin_policy,
                                .has_credentials = !flags.token.empty() || !flags.username.empty() ||
                                                   !flags.client_certificate.empty(),
                                .stdin_in_use = invocation.stdin_in_use});
  // With an address, there need not be a kubeconfig; but what was asked for by name has to be there.
  const bool named =
      !flags.kubeconfig.empty() || !flags.context.empty() || !flags.cluster.empty() || !flags.user.empty();
  if (!config && (flags.server.empty() || named || config.error().Is(Reason::kConnection)))
    return Unexpected(ConfigError(flags, config.error()));
  if (!config) config = ClientConfig();
  FLYBALL_TRY(ApplyOverrides(flags, *config));
  FLYBALL_TRY(ApplyImpersonation(flags, config->rest));
  return config;
}

// Where kubectl keeps its copies of discovery.
std::string CacheFolder(const ConnectionFlags& flags, const std::string& url) {
  const std::string home = FromEnvironment({"HOME"}, "") + "/.kube/cache";
  const std::string folder =
      !flags.cache_dir.empty() ? flags.cache_dir : FromEnvironment({"KUBECACHEDIR"}, home);
  return DiscoveryCache::FolderFor(folder + "/discovery", url);
}

}  // namespace

Result<ClientConfig> Session::Config(const Invocation& invocation) {
  return ConfigFor(invocation);
}

Result<std::unique_ptr<Session>> Session::Open(const Invocation& invocation) {
  const ConnectionFlags& flags = invocation.connection;
  std::unique_ptr<Session> session(new Session());
  auto config = ConfigFor(invocation);
  if (!config) return Unexpected(config.error());
  config->rest.user_agent = "flyball";
  config->rest.retry_unasked = false;
  session->url_ = config->http.url;
  session->command_path_ = invocation.path;
  if (invocation.record) session->change_cause_ = invocation.command_line;
  session->ns_given_ = !flags.ns.empty();
  session->ns_ = flags.ns.empty() ? config->default_namespace : flags.ns;
  session->verbosity_ = flags.verbosity;
  if (config->rest.timeout != RestOptions().timeout) session->request_timeout_ = config->rest.timeout;
  session->executor_ = std::make_unique<ThreadPool>("client", 1);
  session->runtime_ =
      std::make_unique<Runtime>(Runtime{*session->executor_, Random::System(), session->metrics_});
  const int verbosity = flags.verbosity;
  if (verbosity >= kLogResponses)
    LogLine(session->clock(), "loader.go:408",
            "Config loaded from file:  " +
                (flags.kubeconfig.empty()
                     ? FromEnvironment({"KUBECONFIG"}, FromEnvironment({"HOME"}, "") + "/.kube/config")
                     : flags.kubeconfig));
  const auto wrap = [&](std::shared_ptr<net::Transport> transport) {
    if (!flags.disable_compression) transport = net::NewUnpackingTransport(std::move(transport));
    if (verbosity < kLogResponses) return transport;
    return NewLoggedTransport(std::move(transport), session->url_, verbosity, session->clock());
  };
  auto rest = NewRestClient(*config, *session->runtime_, wrap);
  if (!rest) return Unexpected(LocalError(rest.error().message()));
  session->rest_ = *rest;
  session->discovery_folder_ = CacheFolder(flags, session->url_);
  session->mapper_ =
      std::make_unique<RestMapper>(Client(session->rest_), DiscoveryCache(session->discovery_folder_));
  return session;
}

std::string Session::verb() const {
  const std::size_t first = command_path_.find(' ');
  if (first == std::string::npos) return {};
  return command_path_.substr(first + 1, command_path_.find(' ', first + 1) - first - 1);
}

Session::~Session() {
  mapper_.reset();
  rest_.reset();
  if (executor_) executor_->Stop();
}

Result<std::string> Session::CallText(RestRequest request) {
  // In Go's order, so that what is logged reads the same.
  std::stable_sort(request.query.begin(), request.query.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  auto response = rest_->Do(std::move(request));
  if (!response) return Unexpected(response.error());
  for (const std::string_view header : response->headers.GetAll("warning")) {
    const std::string text = WarningText(header);
    if (warned_.insert(text).second) std::cerr << "Warning: " << text << "\n";
  }
  return std::move(response->body);
}

Result<json::Value> Session::Call(RestRequest request) {
  FLYBALL_ASSIGN(const std::string body, CallText(std::move(request)));
  return json::Parse(body);
}

Result<json::Value> Session::CallList(RestRequest request) {
  if (chunk_size_ <= 0) return Call(std::move(request));
  std::optional<json::Value> whole;
  std::string token;
  do {
    RestRequest chunk = request;
    chunk.Query("continue", token).Query("limit", std::to_string(chunk_size_));
    auto part = Call(std::move(chunk));
    if (!part && whole && part.error().code() == 410) return Call(std::move(request));
    if (!part) return part;
    token = std::string(std::as_const(*part)["metadata"]["continue"].string_or(""));
    if (!whole) {
      whole = std::move(*part);
      continue;
    }
    for (const char* field : {"items", "rows"}) {
      json::Value *all = whole->Find(field), *more = part->Find(field);
      if (!all || !more || !all->is_array() || !more->is_array()) continue;
      for (json::Value& one : more->as_array()) all->as_array().push_back(std::move(one));
    }
  } while (!token.empty());
  if (json::Value* metadata = whole->Find("metadata")) {
    metadata->as_object().Erase("continue");
    metadata->as_object().Erase("remainingItemCount");
  }
  return std::move(*whole);
}

std::shared_ptr<WatchReader> Session::Watch(RestRequest request) {
  std::shared_ptr<WatchReader> reader = WatchReader::Start(*rest_, std::move(request));
  if (!request_timeout_) return reader;
  executor_->PostAfter(*request_timeout_, [this, watched = std::weak_ptr(reader)] {
    const auto running = watched.lock();
    if (!running) return;
    constexpr int kLogStreams = 5;
    if (verbosity_ >= kLogStreams)
      LogLine(clock(), "streamwatcher.go:114",
              "Unable to decode an event from the watch stream: context deadline exceeded (Client.Timeout or "
              "context cancellation while reading body)");
    running->Cancel();
  });
  return reader;
}

Result<json::Value> Session::Get(const KindRef& kind, std::string_view ns, std::string_view name) {
  RestRequest request;
  request.path = kind.Path(ns, name);
  auto object = Call(std::move(request));
  if (object || !object.error().Is(Reason::kNotFound) || ns.empty() || ns == "default") return object;
  return Unexpected(MissingNamespace(*this, ns).value_or(object.error()));
}

std::optional<Error> MissingNamespace(Session& session, std::string_view ns) {
  RestRequest request;
  request.path = "/api/v1/namespaces/" + std::string(ns);
  const auto found = session.Call(std::move(request));
  if (found || !found.error().Is(Reason::kNotFound)) return std::nullopt;
  return found.error();
}

Result<json::Value> Session::Patch(const KindRef& kind, std::string_view ns, std::string_view name,
                                   std::string_view content_type, const json::Value& patch,
                                   const std::string& field_manager, std::string_view subresource) {
  RestRequest request;
  request.verb = "PATCH";
  request.path = kind.Path(ns, name, subresource);
  request.content_type = content_type;
  request.body = json::Write(patch);
  request.Query("fieldManager", field_manager);
  return Call(std::move(request));
}

Result<json::Value> Session::Create(const KindRef& kind, std::string_view ns, const json::Value& object,
                                    const std::string& field_manager, bool dry_run,
                                    const std::string& validation) {
  RestRequest request;
  request.verb = "POST";
  request.path = kind.Path(ns);
  json::Value fresh = object;  // what was read from a server may be created again
  if (json::Value* version = fresh.FindPath({"metadata", "resourceVersion"}); version)
    fresh["metadata"].as_object().Erase("resourceVersion");
  Record(fresh);
  request.body = json::Write(fresh);
  request.Query("fieldManager", field_manager).Query("fieldValidation", validation);
  if (dry_run) request.Query("dryRun", "All");
  return Call(std::move(request));
}

void Session::ForgetDiscovery() {
  std::error_code gone;
  std::filesystem::remove_all(discovery_folder_, gone);
  mapper_->Reset();
}

void Session::Warn(const std::string& text) {
  if (said_.insert(text).second) std::cerr << "Warning: " << text << "\n";
}

void Session::Record(json::Value& object) const {
  if (!records()) return;
  json::Value& metadata = object["metadata"];
  if (!std::as_const(metadata)["annotations"].is_object()) metadata["annotations"] = json::Object();
  metadata["annotations"]["kubernetes.io/change-cause"] = change_cause_;
}

Error Session::UsageError(const std::string& message) const {
  return LocalError(message + "\nSee '" + command_path_ + " -h' for help and examples");
}

void Session::PrintErrors() {
  std::cout.flush();
  for (const Error& error : errors_)
    if (const std::string text = errors_.size() == 1 ? ErrorText(error) : ErrorTextInList(error);
        !text.empty())
      std::cerr << text << "\n";
  errors_.clear();
}

void Session::FailOnWarnings() {
  if (exit_code() != 0 || warned_.empty()) return;
  std::cerr << "error: " << warned_.size() << (warned_.size() == 1 ? " warning" : " warnings")
            << " received\n";
  set_exit_code(1);
}

void Session::Pause(Duration delay) {
  SleepFor(delay);
}

RestRequest RawRequest(const std::string& path_and_query) {
  RestRequest request;
  const std::size_t question = path_and_query.find('?');
  request.path = path_and_query.substr(0, question);
  request.accept = "application/json, */*";
  if (question == std::string::npos) return request;
  for (const std::string& pair : SplitText(path_and_query.substr(question + 1), '&')) {
    const std::size_t equals = pair.find('=');
    request.Query(pair.substr(0, equals), equals == std::string::npos ? "" : pair.substr(equals + 1));
  }
  return request;
}

void RunVerb(const Command& command, std::function<Status(Session&)> verb) {
  command.RunLocal([invocation = &command.invocation(), verb = std::move(verb)] {
    auto session = Session::Open(*invocation);
    if (!session) {
      std::cerr << ErrorText(session.error()) << "\n";
      return 1;
    }
    if (const Status status = verb(**session); !status) (*session)->Report(status.error());
    (*session)->PrintErrors();
    if (invocation->connection.warnings_as_errors) (*session)->FailOnWarnings();
    return (*session)->exit_code();
  });
}

}  // namespace flyball::cli
