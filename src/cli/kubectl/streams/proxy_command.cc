#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/run/notification.h"
#include "base/run/task.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/command/klog.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "client/config.h"
#include "client/credentials.h"
#include "client/rest_client.h"
#include "client/rotating_transport.h"
#include "net/server/http_server.h"
#include "server/forward/forwarded_headers.h"
#include "server/forward/relay.h"

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

struct ProxyFlags {
  int port = 8001;
  std::string address = "127.0.0.1", api_prefix = "/", www, www_prefix = "/static/";
  std::string accept_hosts = "^localhost$,^127\\.0\\.0\\.1$,^\\[::1\\]$", accept_paths = "^.*",
              reject_paths = "^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach", reject_methods = "^$";
  std::string keepalive = "0s";
  bool disable_filter = false, append_server_path = false;
};

// Regular expressions with commas between them. Thread-safe once made.
class Patterns {
 public:
  static Result<Patterns> Parse(const std::string& list) {
    Patterns out;
    for (const std::string& text : SplitText(list, ',')) {
      auto pattern = std::make_unique<RE2>(text, RE2::Quiet);
      if (!pattern->ok())
        return Unexpected(LocalError("error parsing regexp: " + pattern->error() + ": `" + text + "`"));
      out.all_.push_back(std::move(pattern));
    }
    return out;
  }
  bool Match(std::string_view text) const {
    for (const auto& pattern : all_)
      if (RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *pattern)) return true;
    return false;
  }

 private:
  std::vector<std::unique_ptr<RE2>> all_;
};

std::string_view ContentTypeOf(const fs::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".html" || extension == ".htm") return "text/html; charset=utf-8";
  if (extension == ".css") return "text/css; charset=utf-8";
  if (extension == ".js") return "text/javascript; charset=utf-8";
  if (extension == ".json") return "application/json";
  if (extension == ".svg") return "image/svg+xml";
  if (extension == ".png") return "image/png";
  return "application/octet-stream";
}

// Without "//", "." and ".."; a final slash stays.
std::string CleanPath(const std::string& path) {
  const std::string clean = fs::path(path).lexically_normal().string();
  return clean.starts_with("//") ? clean.substr(1) : clean;
}

std::string AsHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else
      out += c;
  }
  return out;
}

// What answers the requests. Thread-safe.
class LocalProxy {
 public:
  static Result<std::shared_ptr<LocalProxy>> New(ProxyFlags flags, const ClientConfig& config) {
    auto proxy = std::make_shared<LocalProxy>();
    if (!flags.api_prefix.ends_with('/')) flags.api_prefix += '/';
    if (!flags.www_prefix.ends_with('/')) flags.www_prefix += '/';
    FLYBALL_ASSIGN(proxy->accept_hosts_, Patterns::Parse(flags.accept_hosts));
    FLYBALL_ASSIGN(proxy->accept_paths_, Patterns::Parse(flags.accept_paths));
    FLYBALL_ASSIGN(proxy->reject_paths_, Patterns::Parse(flags.reject_paths));
    FLYBALL_ASSIGN(proxy->reject_methods_, Patterns::Parse(flags.reject_methods));
    FLYBALL_ASSIGN(proxy->transport_, NewRotatingTransport(config.http, config.tls_source));
    proxy->credentials_ = config.credentials;
    proxy->rest_ = config.rest;
    proxy->flags_ = std::move(flags);
    return proxy;
  }

  void Handle(net::Request request, const std::shared_ptr<net::ResponseStream>& stream) const {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (!flags_.disable_filter && !Accepts(request, path)) return Plain(*stream, 403, "Forbidden\n");
    // As Go's http.ServeMux: the client is sent to the clean form of the path.
    if (const std::string clean = CleanPath(path); clean != path)
      return stream->Send(301, {{"location", clean + request.target.substr(path.size())}}, "");
    if (!flags_.www.empty() && path.starts_with(flags_.www_prefix))
      return ServeFile(*stream, path.substr(flags_.www_prefix.size()));
    if (!path.starts_with(flags_.api_prefix)) return Plain(*stream, 404, "404 page not found\n");
    request.target.erase(0, flags_.api_prefix.size() - 1);
    if (flags_.append_server_path) request.target.insert(0, rest_.path_prefix);
    PassOn(std::move(request), stream);
  }

 private:
  static void Plain(net::ResponseStream& stream, int status, const char* text) {
    stream.Send(status,
                {{"content-type", "text/plain; charset=utf-8"}, {"x-content-type-options", "nosniff"}}, text);
  }
  static std::string HostName(std::string_view host) {
    if (host.starts_with('[')) return std::string(host.substr(0, host.find(']') + 1));
    return std::string(host.substr(0, host.find(':')));
  }
  bool Accepts(const net::Request& request, const std::string& path) const {
    return accept_hosts_.Match(HostName(request.headers.Get("host"))) && accept_paths_.Match(path) &&
           !reject_paths_.Match(path) && !reject_methods_.Match(request.method);
  }

  // As Go's http.FileServer: files, the index.html of a folder, else the folder's list.
  void ServeFile(net::ResponseStream& stream, const std::string& name) const {
    const fs::path relative = fs::path(name).lexically_normal();
    if (relative.is_absolute() || (!relative.empty() && *relative.begin() == ".."))
      return Plain(stream, 404, "404 page not found\n");
    fs::path file = fs::path(flags_.www) / relative;
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) {
      if (!name.empty() && !name.ends_with('/'))
        return stream.Send(301, {{"location", relative.filename().string() + "/"}}, "");
      if (!fs::is_regular_file(file / "index.html", ignored)) return ListFolder(stream, file);
      file /= "index.html";
    }
    std::ifstream in(file, std::ios::binary);
    if (!in) return Plain(stream, 404, "404 page not found\n");
    stream.Send(200, {{"content-type", std::string(ContentTypeOf(file))}},
                std::string(std::istreambuf_iterator<char>(in), {}));
  }

  static void ListFolder(net::ResponseStream& stream, const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code ignored;
      names.push_back(entry->path().filename().string() + (entry->is_directory(ignored) ? "/" : ""));
    }
    std::sort(names.begin(), names.end());
    std::string page = "<!doctype html>\n<pre>\n";
    for (const std::string& name : names)
      page += "<a href=\"./" + PercentEncode(name) + "\">" + AsHtml(name) + "</a>\n";
    stream.Send(200, {{"content-type", "text/html; charset=utf-8"}}, page + "</pre>\n");
  }

  void PassOn(net::Request request, const std::shared_ptr<net::ResponseStream>& stream) const {
    net::Headers headers = server::ForwardedHeaders(request);
    if (!rest_.impersonate_user.empty()) headers.Set("impersonate-user", rest_.impersonate_user);
    for (const std::string& group : rest_.impersonate_groups) headers.Add("impersonate-group", group);
    if (credentials_)
      if (const Status authorized = credentials_->Authorize(headers); !authorized)
        return Plain(*stream, 502, "the credentials cannot be read\n");
    if (server::IsUpgrade(request)) {
      server::RelayUpgrade(transport_, request, request.target, std::move(headers), stream);
      return;
    }
    request.headers = std::move(headers);
    server::RelayRules rules;
    rules.headers = [](const net::Headers& from) {
      net::Headers out;
      for (const auto& [name, value] : from)
        if (!server::IsHopByHop(name) && name != "content-length") out.Add(name, value);
      return out;
    };
    rules.unreachable = [](const Error& error) { return server::TextAnswer(502, error.message() + "\n"); };
    server::RelayAnswer(transport_, std::move(request), stream, std::move(rules));
  }

  ProxyFlags flags_;
  Patterns accept_hosts_, accept_paths_, reject_paths_, reject_methods_;
  std::shared_ptr<net::Transport> transport_;
  std::shared_ptr<Credentials> credentials_;
  RestOptions rest_;
};

Status Serve(const Invocation& invocation, const ProxyFlags& flags) {
  FLYBALL_ASSIGN(const ClientConfig config, Session::Config(invocation));
  if (!flags.append_server_path && !config.rest.path_prefix.empty() && config.rest.path_prefix != "/")
    LogLine(RealClock(), "proxy.go:172",
            "Your kube context contains a server path " + config.rest.path_prefix +
                ", use --append-server-path to automatically append the path to each request",
            'W');
  if (flags.disable_filter)
    std::cerr << "Request filter disabled, your proxy is vulnerable to XSRF attacks, please be cautious\n";
  FLYBALL_ASSIGN(const auto proxy, LocalProxy::New(flags, config));
  const net::Handler handler = [proxy](std::shared_ptr<net::Request> request,
                                       std::shared_ptr<net::ResponseStream> stream) -> Task<void> {
    proxy->Handle(std::move(*request), stream);
    co_return;
  };
  const auto server = net::HttpServer::Start({.address = flags.address, .port = flags.port}, handler);
  if (!server) return Unexpected(LocalError(server.error().message()));
  std::cout << "Starting to serve on " << flags.address << ":" << (*server)->port() << std::endl;
  Notification<bool> never;
  never.Wait();
  return {};
}

}  // namespace

void AddProxyCommand(const Command& root) {
  auto flags = std::make_shared<ProxyFlags>();
  const Command command =
      root.Sub("proxy", "Serve the API here, with your credentials",
               "flyball proxy --port=8001\n  curl http://127.0.0.1:8001/api/v1/namespaces");
  command.Option("-p,--port", &flags->port, "Port to listen on; 0: any free one");
  command.Option("--address", &flags->address, "Address to listen on");
  command.Option("--api-prefix", &flags->api_prefix, "Where the API is served");
  command.Option("-w,--www", &flags->www, "Also serve the files of this folder");
  command.Option("-P,--www-prefix", &flags->www_prefix, "Where those are served");
  command.Option("--accept-hosts", &flags->accept_hosts,
                 "Hosts that are served: regular expressions with commas");
  command.Option("--accept-paths", &flags->accept_paths, "Paths that are served");
  command.Option("--reject-paths", &flags->reject_paths, "Paths that are refused");
  command.Option("--reject-methods", &flags->reject_methods, "Methods that are refused");
  command.Option("--keepalive", &flags->keepalive, "Accepted; connections are kept as the system keeps them");
  command.Flag("--append-server-path", &flags->append_server_path,
               "Put the path of the server's URL in front of each request's");
  command.Flag("--disable-filter", &flags->disable_filter, "Serve everything to everybody who can connect");
  command.RunLocal([flags, invocation = &command.invocation()] {
    const Status done = Serve(*invocation, *flags);
    if (!done) std::cerr << ErrorText(done.error()) << "\n";
    return done ? 0 : 1;
  });
}

}  // namespace flyball::cli
