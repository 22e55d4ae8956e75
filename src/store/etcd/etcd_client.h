// EtcdClient: calls and streams to an etcd cluster, given by the URLs of its members.
//
// One endpoint is in use at a time. A call that finds it unreachable, silent or without a leader makes the
// next one the endpoint in use, and is made there if that cannot do a thing twice.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/values/result.h"
#include "net/grpc/grpc_channel.h"

namespace flyball::store::etcd {

// What a client of the API server is told: etcd's own words; to be tried again if the cluster does not work
// at the moment.
Error ErrorForClients(const Error& error);

struct EtcdClientOptions {
  std::vector<std::string> endpoints;  // "http://host:port", "https://host:port", "unix:///path"
  net::ClientTls tls;
};

// Thread-safe.
class EtcdClient : public std::enable_shared_from_this<EtcdClient> {
 public:
  // BadRequest for an endpoint that is no such URL, or certificates that cannot be used. Nothing is connected
  // yet. The executor, which runs the waits between attempts, must outlive it.
  static Result<std::shared_ptr<EtcdClient>> Make(const EtcdClientOptions& options, Executor& executor);

  // Whether a call that may have been executed is made again.
  enum class Repeat { kAlways, kUnlessSent };
  using Done = UniqueFunction<void(Result<std::string>)>;

  // Sends an encoded message; `done` gets the encoded answer, once, on an I/O thread or a timer's. Errors are
  // those of GrpcAnswer, with the endpoint in front of what is no answer of etcd's.
  void Call(std::string method, std::string message, Repeat repeat, Duration timeout, Done done);
  // The same, blocking; not on an I/O thread.
  Result<std::string> CallNow(std::string method, std::string message, Repeat repeat, Duration timeout);

  struct OpenedStream {
    std::unique_ptr<net::GrpcStream> stream;
    std::size_t endpoint = 0;
  };
  OpenedStream Open(const std::string& method, std::shared_ptr<net::GrpcStreamSink> sink);

  // That endpoint does not work: if it is the one in use, the next one is from now on.
  void Leave(std::size_t endpoint);
  // No call is made again after this.
  void Close() { closed_ = true; }

  const std::string& endpoint(std::size_t i) const { return endpoints_[i].url; }
  std::size_t endpoint_count() const { return endpoints_.size(); }
  // All of them, for messages.
  std::string EndpointList() const;

 private:
  struct Endpoint {
    std::string url;
    std::unique_ptr<net::GrpcChannel> channel;
  };
  struct Attempt;

  explicit EtcdClient(Executor& executor) : executor_(executor) {}
  static Error WhatToTell(const Attempt& attempt, const Error& error);
  void Try(std::shared_ptr<Attempt> attempt);
  void OnAnswer(std::shared_ptr<Attempt> attempt, std::size_t endpoint, net::GrpcAnswer answer);

  Executor& executor_;
  std::vector<Endpoint> endpoints_;
  std::atomic<std::size_t> current_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace flyball::store::etcd
