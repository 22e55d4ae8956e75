#include "node/streams/node_server.h"

#include <functional>
#include <vector>

#include "base/run/mutex.h"
#include "base/values/bytes.h"
#include "net/client/tcp_client.h"
#include "net/tls/pki.h"
#include "node/streams/node_documents.h"
#include "node/streams/node_request.h"
#include "node/streams/port_forward.h"
#include "node/streams/remote_command.h"

namespace flyball::node {
namespace {

// A log is read from its file as fast as the client takes it: so much is on its way at most.
constexpr std::size_t kLogAhead = 512u << 10;
constexpr Duration kDialTimeout = std::chrono::seconds(30);

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
    return stream_->Write(MakeBytes(std::move(text)));
  }
  bool Wait(Closure ready) {
    if (stream_->pending_bytes() < kLogAhead) return false;
    stream_->OnDrained(kLogAhead / 4, std::move(ready));
    return true;
  }
  void Done(const Status& status) {
    if (!status && !begun_) return SendText(*stream_, status.error().code(), status.error().message());
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
  using RequestPtr = std::shared_ptr<net::Request>;
  using StreamPtr = std::shared_ptr<net::ResponseStream>;

  struct Entry {
    std::shared_ptr<PodSource> source;
    int port = 0;  // its own
  };
  Mutex mu;
  std::vector<Entry> sources FLYBALL_GUARDED_BY(mu);
  Metrics* metrics = nullptr;        // as auth
  std::shared_ptr<CallerAuth> auth;  // set once, before the first request
  const std::shared_ptr<net::TcpDialer> dialer = std::make_shared<net::TcpDialer>(kDialTimeout);

  void Handle(const RequestPtr& request, const StreamPtr& stream, int port) {
    const NodeRequest asked(*request);
    WithNode(asked, port, [self = shared_from_this(), request, stream, port](const std::string& node) {
      self->auth->Check(*request, node, [self, request, stream, port](const CallerVerdict& verdict) {
        stream->executor().Post([self, request, stream, verdict, port] {
          if (verdict.status != 200) return SendText(*stream, verdict.status, verdict.message);
          self->Serve(NodeRequest(*request), request, stream, port);
        });
      });
    });
  }

  // The node whose port it is; if that has gone, any.
  std::shared_ptr<PodSource> NodeAt(int port) {
    MutexLock lock(mu);
    for (const Entry& entry : sources)
      if (entry.port == port) return entry.source;
    return sources.empty() ? nullptr : sources.front().source;
  }

  // The name of the node that has the pod that is asked about; where there is no such pod, that of the port.
  void WithNode(const NodeRequest& asked, int port, std::function<void(const std::string&)> then) {
    const auto at = NodeAt(port);
    const std::string any = at ? at->node_name() : "";
    if (asked.path().size() < 3) return then(any);
    const PodQuery query{asked.path()[1], asked.path()[2], ""};
    Ask(
        0,
        [query, then](PodSource& source, Closure not_here) {
          source.Find(
              query, [then, name = source.node_name()](const FoundPod&) { then(name); }, std::move(not_here));
        },
        [then, any] { then(any); });
  }

  void Serve(const NodeRequest& asked, const RequestPtr& request, const StreamPtr& stream, int port) {
    if (asked.path().size() == 1 && asked.what() == "healthz") return SendText(*stream, 200, "ok");
    if (const auto source = NodeAt(port); source && request->method == "GET")
      if (ServeNodeDocument(asked, *source, stream, metrics)) return;
    const bool container = asked.path().size() == 4;
    const bool streams = request->method == "GET" || request->method == "POST";
    if (asked.what() == "containerLogs" && container && request->method == "GET")
      return ServeLog(asked, stream);
    if ((asked.what() == "exec" || asked.what() == "attach") && container && streams)
      return ServeCommand(asked, request, stream);
    if (asked.what() == "portForward" && asked.path().size() == 3 && streams)
      return ServePorts(asked, request, stream);
    SendText(*stream, 404, "404 page not found");
  }

  // The port is known once the server listens.
  static net::Handler HandlerAt(std::shared_ptr<State> state, std::shared_ptr<std::atomic<int>> port) {
    return [state = std::move(state), port = std::move(port)](
               std::shared_ptr<net::Request> request,
               std::shared_ptr<net::ResponseStream> stream) -> Task<void> {
      state->Handle(request, stream, *port);
      co_return;
    };
  }

  void ServeLog(const NodeRequest& asked, const StreamPtr& stream) {
    LogRequest wanted;
    wanted.query = {.pod_namespace = asked.path()[1],
                    .pod_name = asked.path()[2],
                    .container = asked.path()[3],
                    .follow = asked.Is("follow"),
                    .timestamps = asked.Is("timestamps"),
                    .tail_lines = asked.Number("tailLines", -1),
                    .limit_bytes = asked.Number("limitBytes", -1)};
    wanted.previous = asked.Is("previous");
    wanted.since_seconds = asked.Number("sinceSeconds", -1);
    auto answer = std::make_shared<LogAnswer>(stream);
    const LogSink sink{.write = [answer](std::string text) { return answer->Write(std::move(text)); },
                       .wait = [answer](Closure ready) { return answer->Wait(std::move(ready)); },
                       .done = [answer](const Status& status) { answer->Done(status); }};
    Ask(
        0,
        [wanted, sink](PodSource& source, Closure not_here) {
          source.ReadLog(wanted, sink, std::move(not_here));
        },
        [wanted, sink] {
          sink.done(
              Unexpected(Error(Reason::kNotFound, "pod \"" + wanted.query.pod_name + "\" does not exist")));
        });
  }

  void ServeCommand(const NodeRequest& asked, const RequestPtr& request, const StreamPtr& stream) {
    const bool exec = asked.what() == "exec";
    StreamRequest wanted{.command = asked.All("command"),
                         .stdin = asked.Is("input"),
                         .stdout = asked.Is("output"),
                         .stderr = asked.Is("error"),
                         .tty = asked.Is("tty")};
    if (wanted.tty) wanted.stderr = false;  // a terminal has one output
    if (!wanted.stdin && !wanted.stdout && !wanted.stderr)
      return SendText(*stream, 400, "you must specify at least 1 of stdin, stdout, stderr");
    if (exec && wanted.command.empty()) return SendText(*stream, 400, "you must specify a command to run");
    WithPod(asked, stream, [=](const FoundPod& pod) {
      const std::string& name = NodeRequest(*request).path()[3];
      if (pod.container_id.empty())
        return SendText(*stream, 500,
                        exec ? "container not found (\"" + name + "\")"
                             : "container " + name + " not found in pod " + NodeRequest(*request).path()[2]);
      if (!pod.runtime->real()) return SendNothingRuns(*stream);
      StreamRequest request_to_run = wanted;
      // What is attached to is as it was started.
      if (!exec) request_to_run.tty = pod.tty;
      const StreamSelection selection{wanted.stdin, wanted.stdout, wanted.stderr, wanted.tty};
      OpenRemoteStreams(*request, stream, selection, [=](std::shared_ptr<RemoteStreams> streams) {
        RunRemoteCommand(exec ? RemoteAction::kExec : RemoteAction::kAttach, pod, request_to_run,
                         std::move(streams));
      });
    });
  }

  void ServePorts(const NodeRequest& asked, const RequestPtr& request, const StreamPtr& stream) {
    WithPod(asked, stream, [=, self = shared_from_this()](const FoundPod& pod) {
      if (!pod.runtime->real()) return SendNothingRuns(*stream);
      const NodeRequest again(*request);
      ServePortForward(
          *request, stream,
          {.address = pod.pod_ip,
           .network_namespace = pod.network_namespace,
           .description = again.path()[2] + "_" + again.path()[1] + ", uid " + pod.pod_uid,
           .dialer = self->dialer,
           .may_forward = [runtime = pod.runtime, uid = pod.pod_uid, own = !pod.network_namespace.empty()](
                              int port) { return own || runtime->MayForwardTo(uid, port); }});
    });
  }

  static void SendNothingRuns(net::ResponseStream& stream) {
    // Without a colon: kubectl takes a text with one for YAML, and shows nothing.
    SendText(stream, 501,
             "the node's runtime only simulates containers, nothing runs in them (start the node with "
             "--runtime native)");
  }

  // Calls `found` on the stream's executor, or answers that there is no such pod.
  void WithPod(const NodeRequest& asked, const StreamPtr& stream,
               std::function<void(const FoundPod&)> found) {
    const PodQuery query{asked.path()[1], asked.path()[2], asked.path().size() > 3 ? asked.path()[3] : ""};
    auto back = [stream, found = std::move(found)](const FoundPod& pod) {
      stream->executor().Post([found, pod] { found(pod); });
    };
    Ask(
        0,
        [query, back](PodSource& source, Closure not_here) { source.Find(query, back, std::move(not_here)); },
        [stream] { SendText(*stream, 404, "pod does not exist"); });
  }

  // One source after the other, until one knows the pod.
  void Ask(std::size_t index, std::function<void(PodSource&, Closure not_here)> ask,
           std::function<void()> nowhere) {
    std::shared_ptr<PodSource> source;
    {
      MutexLock lock(mu);
      if (index < sources.size()) source = sources[index].source;
    }
    if (!source) return nowhere();
    ask(*source, [self = shared_from_this(), index, ask, nowhere] { self->Ask(index + 1, ask, nowhere); });
  }
};

NodeServer::NodeServer(std::shared_ptr<State> state, std::string client_ca_pem,
                       std::unique_ptr<net::HttpServer> server)
    : state_(std::move(state)), client_ca_pem_(std::move(client_ca_pem)), server_(std::move(server)) {}

NodeServer::~NodeServer() = default;

Result<std::unique_ptr<NodeServer>> NodeServer::Start(const NodeServerOptions& options) {
  if (options.tls.client_ca_pem.empty())
    return Unexpected(BadRequest("a node's server needs the CA of its callers' certificates"));
  if (!options.auth) return Unexpected(BadRequest("a node's server needs to know who may call"));
  net::ServerTls tls = options.tls;
  if (tls.certificate_pem.empty()) FLYBALL_TRY(MakeCertificate(options.address, tls));
  auto state = std::make_shared<State>();
  state->auth = options.auth;
  state->metrics = options.metrics;
  auto port = std::make_shared<std::atomic<int>>(options.port);
  auto server =
      net::HttpServer::Start({.address = options.address, .port = options.port, .tls = &tls, .io_threads = 1},
                             State::HandlerAt(state, port));
  if (!server) return Unexpected(server.error());
  *port = (*server)->port();
  return std::unique_ptr<NodeServer>(new NodeServer(std::move(state), tls.client_ca_pem, std::move(*server)));
}

int NodeServer::port() const {
  return server_->port();
}

Status NodeServer::SetCertificate(const net::KeyPair& pair) {
  return server_->SetTls({pair.certificate_pem, pair.private_key_pem, client_ca_pem_});
}

Result<int> NodeServer::NextPort() {
  if (!first_taken_.exchange(true)) return server_->port();
  auto port = std::make_shared<std::atomic<int>>(0);
  FLYBALL_ASSIGN(*port, server_->AlsoListen(0, State::HandlerAt(state_, port)));
  return port->load();
}

void NodeServer::Add(std::shared_ptr<PodSource> source, int port) {
  MutexLock lock(state_->mu);
  state_->sources.push_back({std::move(source), port});
}

void NodeServer::Remove(const std::shared_ptr<PodSource>& source) {
  MutexLock lock(state_->mu);
  std::erase_if(state_->sources, [&](const State::Entry& entry) { return entry.source == source; });
}

}  // namespace flyball::node
