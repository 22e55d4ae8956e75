// MeasuredServer: `flyball apiserver` in a process of its own on an empty folder, and what the operating
// system says about it; or any server that runs already.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "client/config.h"
#include "net/http/http.h"

namespace flyball::bench {

// Thread-compatible. The process is ended (SIGTERM) and its folder removed when destroyed.
class MeasuredServer {
 public:
  // Runs the program in a new folder under `parent` and waits until /readyz says ok. Exits with a message
  // if that does not happen.
  MeasuredServer(const std::string& program, const std::string& parent);
  // The server of the kubeconfig's current context. What it uses is not known.
  explicit MeasuredServer(const std::string& kubeconfig);
  ~MeasuredServer();
  MeasuredServer(const MeasuredServer&) = delete;
  MeasuredServer& operator=(const MeasuredServer&) = delete;

  // From before the process was made to the answer of /readyz.
  Duration ready_after() const { return ready_after_; }
  // These are 0 if the process is not ours.
  double ResidentMb() const;
  // User and system time of all its threads so far.
  double CpuSeconds() const;

  // A client of the administrator: HTTP/2 with one connection for up to 250 streams, or one HTTP/1.1
  // connection a request under way.
  std::unique_ptr<net::Transport> NewClient(bool http2) const;

 private:
  const std::string folder_;
  pid_t pid_ = 0;
  ClientConfig config_;
  Duration ready_after_{};
};

}  // namespace flyball::bench
