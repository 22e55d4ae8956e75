#include "client/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/files/owned_fd.h"

extern char** environ;

namespace flyball {
namespace {

std::vector<std::string> Environment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : added) replaced = replaced || key == name;
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [key, value] : added) out.push_back(key + "=" + value);
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

std::string ReadAll(int fd) {
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n > 0)
      out.append(buffer, static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR)
      return out;
  }
}

// Where it reads from and complains to; -1: where we do.
struct Streams {
  int in = -1, err = -1;
};

Result<ProcessOutput> Run(const std::string& command, const std::vector<std::string>& args,
                          const std::vector<std::pair<std::string, std::string>>& env, Streams streams) {
  std::vector<std::string> argv_strings{command};
  argv_strings.insert(argv_strings.end(), args.begin(), args.end());
  std::vector<std::string> env_strings = Environment(env);
  const auto argv = Pointers(argv_strings), envp = Pointers(env_strings);

  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return Unexpected(InternalError(std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDOUT_FILENO);
  if (streams.in >= 0) posix_spawn_file_actions_adddup2(&actions, streams.in, STDIN_FILENO);
  if (streams.err >= 0) posix_spawn_file_actions_adddup2(&actions, streams.err, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  // Signals we have blocked are none of its business.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, command.c_str(), &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_fds[1]);
  if (failed != 0) {
    close(pipe_fds[0]);
    const Reason reason = failed == ENOENT ? Reason::kNotFound : Reason::kInternalError;
    return Unexpected(Error(reason, "cannot run " + command + ": " + std::strerror(failed)));
  }
  ProcessOutput output;
  output.out = ReadAll(pipe_fds[0]);
  close(pipe_fds[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

Result<OwnedFd> TextFile(std::string_view text) {
  OwnedFd file(memfd_create("flyball-process", MFD_CLOEXEC));
  while (file && !text.empty()) {
    const ssize_t n = write(file.get(), text.data(), text.size());
    if (n < 0 && errno != EINTR) return Unexpected(InternalError(std::strerror(errno)));
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (!file || lseek(file.get(), 0, SEEK_SET) != 0) return Unexpected(InternalError(std::strerror(errno)));
  return file;
}

}  // namespace

Result<ProcessOutput> RunProcess(const std::string& command, const std::vector<std::string>& args,
                                 const std::vector<std::pair<std::string, std::string>>& env,
                                 ProcessInput input) {
  if (input == ProcessInput::kOurs) return Run(command, args, env, {});
  const OwnedFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  return Run(command, args, env, {.in = nothing.get()});
}

Result<ProcessOutput> FeedProcess(const std::string& command, const std::vector<std::string>& args,
                                  const std::vector<std::pair<std::string, std::string>>& env,
                                  std::string_view input) {
  FLYBALL_ASSIGN(const OwnedFd in, TextFile(input));
  FLYBALL_ASSIGN(const OwnedFd err, TextFile({}));
  FLYBALL_ASSIGN(ProcessOutput output, Run(command, args, env, {in.get(), err.get()}));
  lseek(err.get(), 0, SEEK_SET);
  output.err = ReadAll(err.get());
  return output;
}

}  // namespace flyball
