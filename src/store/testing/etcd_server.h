// EtcdServer: a real etcd of one member for tests, on a free port of the loopback interface.
//
// The program is $FLYBALL_ETCD, or `etcd` in the path. Where there is none, or one that is too old, the tests
// that need it are left out, and one line says so.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "store/etcd/etcd_version.h"
#include "store/testing/store_testing.h"

namespace flyball::store {

// Confined to one thread.
class EtcdServer {
 public:
  // Whether there is an etcd that can be used.
  static bool Available() {
    static const bool kAvailable = [] {
      const std::string version = Version();
      if (!version.empty() && etcd::CheckVersion(version)) return true;
      std::cout << "tests on etcd are skipped: "
                << (version.empty() ? "no etcd in the path (or $FLYBALL_ETCD)"
                                    : etcd::CheckVersion(version).error().message())
                << std::endl;
      return false;
    }();
    return kAvailable;
  }

  // Certificates in PEM: `authority`'s clients alone are let in. Empty: plain text.
  struct Tls {
    std::string certificate, key, authority;
  };
  explicit EtcdServer(const TempFolder& folder) : EtcdServer(folder, Tls()) {}
  EtcdServer(const TempFolder& folder, const Tls& tls)
      : folder_(folder), tls_(!tls.certificate.empty()), port_(FreePort()), peer_port_(FreePort()) {
    std::ofstream(folder / "etcd.crt") << tls.certificate;
    std::ofstream(folder / "etcd.key") << tls.key;
    std::ofstream(folder / "etcd-ca.crt") << tls.authority;
    std::ofstream(folder / "etcd.url") << url();
    Start();
  }
  ~EtcdServer() { Stop(SIGKILL); }
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;

  std::string url() const {
    return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
  }
  static std::string UrlIn(const TempFolder& folder) {
    std::string url;
    std::ifstream(folder / "etcd.url") >> url;
    return url;
  }

  // Again, with the same data, after Stop.
  void Start() {
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    std::vector<std::string> words = {Program(),
                                      "--data-dir=" + folder_ / "etcd",
                                      "--listen-client-urls=" + url(),
                                      "--advertise-client-urls=" + url(),
                                      "--listen-peer-urls=" + peer,
                                      "--initial-advertise-peer-urls=" + peer,
                                      "--initial-cluster=default=" + peer,
                                      "--unsafe-no-fsync",
                                      "--log-level=error"};
    if (tls_)
      words.insert(words.end(), {"--cert-file=" + folder_ / "etcd.crt", "--key-file=" + folder_ / "etcd.key",
                                 "--trusted-ca-file=" + folder_ / "etcd-ca.crt", "--client-cert-auth"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    child_ = fork();
    if (child_ != 0) return;
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 1);
    dup2(nothing, 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  void Stop(int signal) {
    if (child_ <= 0) return;
    kill(child_, signal);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  // Sends a signal that does not end it (SIGSTOP, SIGCONT). One that is to stop it has stopped on return.
  void Signal(int signal) {
    kill(child_, signal);
    if (signal == SIGSTOP) waitpid(child_, nullptr, WUNTRACED);
  }

 private:
  static std::string Program() {
    const char* given = std::getenv("FLYBALL_ETCD");
    return given ? given : "etcd";
  }
  // "3.6.5"; empty if there is no etcd.
  static std::string Version() {
    FILE* said = popen((Program() + " --version 2>/dev/null").c_str(), "r");
    if (!said) return {};
    char text[256] = "";
    const bool read = fgets(text, sizeof text, said) != nullptr;
    pclose(said);
    const std::string line = read ? text : "";
    const std::string head = "etcd Version: ";
    return line.starts_with(head) ? line.substr(head.size(), line.find('\n') - head.size()) : "";
  }
  static int FreePort() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0)
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    close(fd);
    return ntohs(address.sin_port);
  }

  const TempFolder& folder_;
  const bool tls_;
  const int port_, peer_port_;
  pid_t child_ = 0;
};

}  // namespace flyball::store
