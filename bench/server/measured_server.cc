#include "measured_server.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "load.h"

extern char** environ;

namespace flyball::bench {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "server_bench: %s\n", what.c_str());
  std::exit(1);
}

pid_t StartProgram(const std::string& program, const std::string& folder, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  std::string arguments[] = {program, "apiserver", "--data-dir", folder, "--secure-port", "0"};
  char* argv[std::size(arguments) + 1] = {};
  for (std::size_t i = 0; i < std::size(arguments); ++i) argv[i] = arguments[i].data();
  pid_t pid = 0;
  if (posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, environ) != 0)
    Die("cannot run " + program + "; build it first: ./dev bench does");
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

// The program prints two lines when it serves; the second names the kubeconfig.
std::string ReadKubeconfigPath(int in) {
  std::string text;
  char buffer[512];
  for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
    const auto at = text.find("kubeconfig ");
    const auto end = text.find('\n', at);
    if (at != std::string::npos && end != std::string::npos) return text.substr(at + 11, end - at - 11);
  }
  Die("the server ended before it was ready");
}

}  // namespace

MeasuredServer::MeasuredServer(const std::string& program, const std::string& parent)
    : folder_(parent + "/server_bench." + std::to_string(getpid())) {
  std::filesystem::remove_all(folder_);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) Die("no pipe");
  const SteadyTime start = RealClock().Steady();
  pid_ = StartProgram(program, folder_, pipe_ends[1]);
  close(pipe_ends[1]);
  auto config = LoadKubeconfig({.path = ReadKubeconfigPath(pipe_ends[0])});
  close(pipe_ends[0]);
  if (!config) Die(config.error().message());
  config_ = std::move(*config);
  const auto client = NewClient(false);
  const Answered ready = Ask(*client, {.target = "/readyz"});
  if (ready.status != 200) Die("not ready: " + ready.text);
  ready_after_ = RealClock().Steady() - start;
}

MeasuredServer::MeasuredServer(const std::string& kubeconfig) {
  auto config = LoadKubeconfig({.path = kubeconfig});
  if (!config) Die(config.error().message());
  config_ = std::move(*config);
}

MeasuredServer::~MeasuredServer() {
  if (pid_ == 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  std::filesystem::remove_all(folder_);
}

double MeasuredServer::ResidentMb() const {
  if (pid_ == 0) return 0;
  std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
  long pages = 0, resident = 0;
  file >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double MeasuredServer::CpuSeconds() const {
  if (pid_ == 0) return 0;
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string stat;
  std::getline(file, stat);
  unsigned long user = 0, system = 0;
  std::sscanf(stat.c_str() + stat.rfind(')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
              &user, &system);
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::unique_ptr<net::Transport> MeasuredServer::NewClient(bool http2) const {
  net::ClientOptions options = config_.http;
  options.http2 = http2;
  auto client = net::NewHttpClient(options);
  if (!client) Die(client.error().message());
  return std::move(*client);
}

}  // namespace flyball::bench
