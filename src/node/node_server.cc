#include "node/node_server.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"
#include "net/pki.h"

namespace flyball::node {
namespace {

// A follower that reads this much slower than the container writes is cut off.
constexpr std::size_t kMaxPending = 8u << 20;

std::string Decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ec == std::errc()) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::vector<std::string> Split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(by), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::map<std::string, std::string> ParseQuery(std::string_view query) {
  std::map<std::string, std::string> values;
  for (const std::string& part : Split(query, '&')) {
    const std::size_t equals = std::min(part.find('='), part.size());
    values[Decode(std::string_view(part).substr(0, equals))] =
        equals < part.size() ? Decode(std::string_view(part).substr(equals + 1)) : "";
  }
  return values;
}

bool IsTrue(const std::map<std::string, std::string>& values, const char* name) {
  const auto found = values.find(name);
  return found != values.end() && (found->second == "true" || found->second == "1");
}

std::int64_t NumberOr(const std::map<std::string, std::string>& values, const char* name,
                      std::int64_t fallback) {
  const auto found = values.find(name);
  if (found == values.end()) return fallback;
  std::int64_t number = fallback;
  std::from_chars(found->second.data(), found->second.data() + found->second.size(), number);
  return number;
}

bool MayReadLogs(const net::Peer& peer) {
  if (!peer.verified) return false;
  const auto& groups = peer.organizations;
  return peer.common_name == kApiServerClientName || peer.common_name == "system:apiserver" ||
         std::find(groups.begin(), groups.end(), "system:masters") != groups.end();
}

constexpr Duration kValidity = std::chrono::hours(24 * 365);

Status MakeCertificate(const std::string& address, net::ServerTls& tls) {
  const TimePoint now = RealClock().Now();
  FLYBALL_ASSIGN(const net::KeyPair authority, net::MakeCertificateAuthority("node-ca", now, kValidity));
  FLYBALL_ASSIGN(const net::KeyPair own, net::IssueCertificate(authority,
                                                               {.common_name = "system:node",
                                                                .dns_names = {"localhost"},
                                                                .ip_addresses = {address},
                                                                .server = true},
                                                               now, kValidity));
  tls.certificate_pem = own.certificate_pem;
  tls.private_key_pem = own.private_key_pem;
  return {};
}

// One answer: its head is sent with the first text, or with the error if that comes first.
class LogAnswer {
 public:
  explicit LogAnswer(std::shared_ptr<net::ResponseStream> stream) : stream_(std::move(stream)) {}

  bool Write(std::string text) {
    Begin();
    return stream_->Write(MakeBytes(std::move(text))) && stream_->pending_bytes() < kMaxPending;
  }
  void Done(const Status& status) {
    if (!status && !begun_)
      return stream_->Send(status.error().code(), {{"content-type", "text/plain"}}, status.error().message());
    Begin();
    stream_->End();
  }
  void Begin() {
    if (!std::exchange(begun_, true)) stream_->Begin(200, {{"content-type", "text/plain"}});
  }

 private:
  const std::shared_ptr<net::ResponseStream> stream_;
  bool begun_ = false;  // calls come one at a time
};

}  // namespace

struct NodeServer::State : public std::enable_shared_from_this<State> {
  Mutex mu;
  std::vector<std::shared_ptr<LogSource>> sources FLYBALL_GUARDED_BY(mu);

  void Handle(const net::Request& request, const std::shared_ptr<net::ResponseStream>& stream) {
    const std::string_view target = request.target;
    const std::size_t mark = std::min(target.find('?'), target.size());
    const auto path = Split(target.substr(0, mark), '/');
    if (path.size() == 1 && path[0] == "healthz")
      return stream->Send(200, {{"content-type", "text/plain"}}, "ok");
    if (!MayReadLogs(request.peer))
      return stream->Send(request.peer.verified ? 403 : 401, {{"content-type", "text/plain"}},
                          request.peer.verified ? "Forbidden" : "Unauthorized");
    if (path.size() != 4 || path[0] != "containerLogs" || request.method != "GET")
      return stream->Send(404, {{"content-type", "text/plain"}}, "404 page not found");
    const auto values = ParseQuery(mark < target.size() ? target.substr(mark + 1) : std::string_view());
    LogRequest wanted;
    wanted.query = {.pod_namespace = Decode(path[1]),
                    .pod_name = Decode(path[2]),
                    .container = Decode(path[3]),
                    .follow = IsTrue(values, "follow"),
                    .timestamps = IsTrue(values, "timestamps"),
                    .tail_lines = NumberOr(values, "tailLines", -1),
                    .limit_bytes = NumberOr(values, "limitBytes", -1)};
    wanted.previous = IsTrue(values, "previous");
    wanted.since_seconds = NumberOr(values, "sinceSeconds", -1);
    auto answer = std::make_shared<LogAnswer>(stream);
    Ask(0, wanted,
        {.write = [answer](std::string text) { return answer->Write(std::move(text)); },
         .done = [answer](const Status& status) { answer->Done(status); }});
  }

  // One source after the other, until one knows the pod.
  void Ask(std::size_t index, const LogRequest& request, const LogSink& sink) {
    std::shared_ptr<LogSource> source;
    {
      MutexLock lock(mu);
      if (index < sources.size()) source = sources[index];
    }
    if (!source) {
      sink.done(
          Unexpected(Error(Reason::kNotFound, "pod \"" + request.query.pod_name + "\" does not exist")));
      return;
    }
    source->ReadLog(request, sink, [self = shared_from_this(), index, request, sink] {
      self->Ask(index + 1, request, sink);
    });
  }
};

NodeServer::NodeServer(std::shared_ptr<State> state, std::unique_ptr<net::HttpServer> server)
    : state_(std::move(state)), server_(std::move(server)) {}

NodeServer::~NodeServer() = default;

Result<std::unique_ptr<NodeServer>> NodeServer::Start(const NodeServerOptions& options) {
  if (options.tls.client_ca_pem.empty())
    return Unexpected(BadRequest("a node's server needs the CA of its callers' certificates"));
  net::ServerTls tls = options.tls;
  if (tls.certificate_pem.empty()) FLYBALL_TRY(MakeCertificate(options.address, tls));
  auto state = std::make_shared<State>();
  auto server =
      net::HttpServer::Start({.address = options.address, .port = options.port, .tls = &tls, .io_threads = 1},
                             [state](std::shared_ptr<net::Request> request,
                                     std::shared_ptr<net::ResponseStream> stream) -> Task<void> {
                               state->Handle(*request, stream);
                               co_return;
                             });
  if (!server) return Unexpected(server.error());
  return std::unique_ptr<NodeServer>(new NodeServer(std::move(state), std::move(*server)));
}

int NodeServer::port() const {
  return server_->port();
}

void NodeServer::Add(std::shared_ptr<LogSource> source) {
  MutexLock lock(state_->mu);
  state_->sources.push_back(std::move(source));
}

void NodeServer::Remove(const std::shared_ptr<LogSource>& source) {
  MutexLock lock(state_->mu);
  std::erase(state_->sources, source);
}

}  // namespace flyball::node
