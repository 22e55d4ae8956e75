// NetworkNamespace: a network stack of the kernel: links, addresses, routes, packet filters, ports.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "base/files/owned_fd.h"
#include "base/values/result.h"

namespace flyball::network {

// A handle: the namespace lives as long as a handle, a path, a process or a socket holds it. Thread-safe.
class NetworkNamespace {
 public:
  using Ptr = std::shared_ptr<const NetworkNamespace>;

  // The one that the calling thread is in.
  static Result<Ptr> Current();
  // Makes one, with its loopback device up, and binds it to the path, where it stays whatever becomes of this
  // program. Below /run/netns, `ip netns` knows it too. AlreadyExists if there is one at the path.
  static Result<Ptr> Create(const std::string& path);
  // NotFound if there is none at the path.
  static Result<Ptr> Open(const std::string& path);
  // Takes the path away. Nothing if there is none.
  static Status Remove(const std::string& path);

  // Where it is bound to; of Current, a path that is good as long as this program runs.
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }

  // Runs `body` on a thread of its own in the namespace, waits for it and returns its Result or Status.
  // Sockets, listening servers and Nftables that it opens belong to the namespace, whoever uses them later.
  template <typename Body>
  std::invoke_result_t<Body> Run(Body body) const {
    std::optional<std::invoke_result_t<Body>> result;
    const Status entered = RunOnThread([&] { result.emplace(body()); });
    if (!entered) return Unexpected(entered.error());
    return std::move(*result);
  }

 private:
  NetworkNamespace(OwnedFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Status RunOnThread(const std::function<void()>& body) const;

  const OwnedFd fd_;
  const std::string path_;
};

}  // namespace flyball::network
