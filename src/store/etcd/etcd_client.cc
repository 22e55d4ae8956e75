#include "store/etcd/etcd_client.h"

#include <algorithm>
#include <optional>

#include "base/observe/log.h"
#include "base/run/notification.h"
#include "net/grpc/grpc_message.h"

namespace flyball::store::etcd {
namespace {

// As long as a call that may be made again waits for one endpoint.
constexpr Duration kAttemptTimeout = std::chrono::seconds(3);
// Between rounds through all endpoints.
constexpr Duration kRoundPause = std::chrono::milliseconds(100);
constexpr Duration kConnectTimeout = std::chrono::seconds(3);
// etcd closes connections that ping more often than every 5 seconds.
constexpr Duration kPingInterval = std::chrono::seconds(10);
constexpr Duration kPingTimeout = std::chrono::seconds(5);
// Pages are cut so that they are far smaller (etcd_store.cc).
constexpr std::size_t kMaxEtcdMessage = std::size_t{512} << 20;

std::string ChannelUrl(const std::string& endpoint) {
  constexpr std::string_view kPlain = "http://";
  return endpoint.starts_with(kPlain) ? "h2c://" + endpoint.substr(kPlain.size()) : endpoint;
}

// Answers that say that the member did not even begin.
bool WasNotExecuted(const Error& error) {
  return net::GrpcDescription(error).starts_with("etcdserver: no leader");
}

bool IsEndpointFailure(const Error& error) {
  return error.Is(Reason::kConnection) || error.Is(Reason::kTimeout);
}

}  // namespace

Error ErrorForClients(const Error& error) {
  const std::string text(net::GrpcDescription(error));
  if (error.Is(Reason::kConnection) || error.Is(Reason::kTimeout))
    return Error(Reason::kServerTimeout, "etcd cannot be reached or has no quorum: " + error.message());
  return InternalError(text);
}

struct EtcdClient::Attempt {
  std::string method, message;
  Repeat repeat;
  SteadyTime deadline;
  Done done;
  std::size_t tries = 0;
  std::optional<Error> refused;  // why it could not be sent, the last time that was so
};

// That nobody listens says more than that the time is over.
Error EtcdClient::WhatToTell(const Attempt& attempt, const Error& error) {
  return error.Is(Reason::kTimeout) && attempt.refused ? *attempt.refused : error;
}

Result<std::shared_ptr<EtcdClient>> EtcdClient::Make(const EtcdClientOptions& options, Executor& executor) {
  if (options.endpoints.empty()) return Unexpected(BadRequest("no etcd server is given"));
  std::shared_ptr<EtcdClient> client(new EtcdClient(executor));
  for (const std::string& url : options.endpoints) {
    net::GrpcChannelOptions channel;
    channel.client.url = ChannelUrl(url);
    channel.client.tls = options.tls;
    channel.client.connect_timeout = kConnectTimeout;
    channel.client.ping_interval = kPingInterval;
    channel.client.ping_timeout = kPingTimeout;
    // A member that has lost its leader says so at once.
    channel.metadata = {{"hasleader", "true"}};
    channel.max_message = kMaxEtcdMessage;
    auto made = net::GrpcChannel::Make(std::move(channel));
    if (!made) return Unexpected(made.error().Annotate("etcd server \"" + url + "\""));
    client->endpoints_.push_back({url, std::move(*made)});
  }
  return client;
}

std::string EtcdClient::EndpointList() const {
  std::string list;
  for (const Endpoint& endpoint : endpoints_) list += (list.empty() ? "" : ", ") + endpoint.url;
  return list;
}

void EtcdClient::Call(std::string method, std::string message, Repeat repeat, Duration timeout, Done done) {
  auto attempt = std::make_shared<Attempt>();
  attempt->method = std::move(method);
  attempt->message = std::move(message);
  attempt->repeat = repeat;
  attempt->deadline = RealClock().Steady() + timeout;
  attempt->done = std::move(done);
  Try(std::move(attempt));
}

Result<std::string> EtcdClient::CallNow(std::string method, std::string message, Repeat repeat,
                                        Duration timeout) {
  const auto told = std::make_shared<Notification<Result<std::string>>>();
  Call(std::move(method), std::move(message), repeat, timeout,
       [told](Result<std::string> answer) { told->Set(std::move(answer)); });
  return told->Wait();
}

void EtcdClient::Try(std::shared_ptr<Attempt> attempt) {
  const std::size_t i = current_;
  Duration timeout = attempt->deadline - RealClock().Steady();
  // With a single endpoint there is nowhere else to try.
  if (attempt->repeat == Repeat::kAlways && endpoints_.size() > 1)
    timeout = std::min(timeout, kAttemptTimeout);
  ++attempt->tries;
  const auto& channel = *endpoints_[i].channel;
  channel.Start(attempt->method, attempt->message, timeout,
                [self = shared_from_this(), attempt, i](net::GrpcAnswer answer) {
                  self->OnAnswer(attempt, i, std::move(answer));
                });
}

void EtcdClient::OnAnswer(std::shared_ptr<Attempt> attempt, std::size_t endpoint, net::GrpcAnswer answer) {
  if (answer.message) return attempt->done(std::move(answer.message));
  const Error& error = answer.message.error();
  if (!IsEndpointFailure(error)) return attempt->done(std::move(answer.message));
  Leave(endpoint);
  if (!answer.sent && error.Is(Reason::kConnection)) attempt->refused = error;
  const bool may_repeat = attempt->repeat == Repeat::kAlways || !answer.sent || WasNotExecuted(error);
  const bool round_over = attempt->tries % endpoints_.size() == 0;
  // Certificates do not become right by waiting.
  const bool hopeless = round_over && !answer.sent && error.message().find("tls: ") != std::string::npos;
  const SteadyTime next = RealClock().Steady() + (round_over ? kRoundPause : Duration::zero());
  if (!may_repeat || hopeless || closed_ || next >= attempt->deadline)
    return attempt->done(
        Unexpected(WhatToTell(*attempt, error).Annotate("etcd at " + endpoints_[endpoint].url)));
  if (!round_over) return Try(std::move(attempt));
  executor_.PostAt(next, [self = shared_from_this(), attempt] { self->Try(attempt); });
}

EtcdClient::OpenedStream EtcdClient::Open(const std::string& method,
                                          std::shared_ptr<net::GrpcStreamSink> sink) {
  const std::size_t i = current_;
  return {endpoints_[i].channel->Open(method, std::move(sink)), i};
}

void EtcdClient::Leave(std::size_t endpoint) {
  if (endpoints_.size() == 1) return;
  std::size_t expected = endpoint;
  const std::size_t next = (endpoint + 1) % endpoints_.size();
  if (current_.compare_exchange_strong(expected, next))
    log::Warning("leaving an etcd server that does not answer",
                 {{"server", endpoints_[endpoint].url}, {"next", endpoints_[next].url}});
}

}  // namespace flyball::store::etcd
