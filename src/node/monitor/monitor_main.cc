// flyball-monitor POD_FOLDER HOSTNAME [share-pid]: see README.md and monitor_protocol.h. Returns once it
// serves, with a process of its own left behind; or prints why not. An empty HOSTNAME keeps the machine's
// name (and its UTS namespace). With share-pid there is a PID namespace for all containers, and its first
// process.
//
// Memory is what it is judged by: no allocation but one block for each container, no C++ library.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "node/monitor/monitor_protocol.h"

namespace {

using flyball::node::kMaxMonitorPacket;
using flyball::node::kMonitorReadSize;
using flyball::node::kMonitorSocket;

constexpr int kMaxContainers = 64, kMaxClients = 16, kMaxText = 1024, kMaxFields = 12;
// How long a client that does not read may hold a container back before it gets no more output.
constexpr int kSlowClientMillis = 1000;
// What a line may have; longer ones are cut into parts marked P, as container runtimes do.
constexpr int kMaxLine = 16384;

struct Container {
  char id[128], folder[kMaxText], log[kMaxText];
  pid_t runc = 0, pid = 0;
  bool tty = false;
  int in = -1, out = -1, err = -1, console = -1, log_fd = -1;
  long long log_size = 0, max_size = 0;
  int max_files = 2;
  unsigned wants_output = 0, wants_growth = 0;  // a bit for each client
  int held[2] = {0, 0};                         // bytes of unfinished lines
  char line[2][kMaxLine];
};

Container* containers[kMaxContainers];
int clients[kMaxClients];
int epoll_fd, listener, signals;
char packet[kMaxMonitorPacket];
bool quitting = false;  // with the last container

[[noreturn]] void Die(const char* what) {
  dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

long long NowNanos() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void Watch(int fd) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

void CloseFd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

Container* Find(const char* id) {
  for (Container* container : containers)
    if (container && strcmp(container->id, id) == 0) return container;
  return nullptr;
}

// ---- the log ----

void OpenLog(Container& c) {
  CloseFd(c.log_fd);
  c.log_fd = open(c.log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  struct stat info;
  c.log_size = c.log_fd >= 0 && fstat(c.log_fd, &info) == 0 ? info.st_size : 0;
  if (c.log_fd >= 0) fchmod(c.log_fd, 0640);
}

// Removes the oldest of the files rotated out until `keep` are left. Their names sort by time.
void DropOldLogs(const Container& c, int keep) {
  char folder[kMaxText];
  snprintf(folder, sizeof(folder), "%s", c.log);
  char* const slash = strrchr(folder, '/');
  *slash = 0;
  const char* const base = slash + 1;
  for (;;) {
    DIR* const listing = opendir(folder);
    if (!listing) return;
    char oldest[256] = "";
    int count = 0;
    while (const dirent* entry = readdir(listing)) {
      const size_t length = strlen(base);
      if (strncmp(entry->d_name, base, length) != 0 || entry->d_name[length] != '.') continue;
      ++count;
      if (!*oldest || strcmp(entry->d_name, oldest) < 0)
        snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
    }
    const int at = dirfd(listing);
    if (count > keep) unlinkat(at, oldest, 0);
    closedir(listing);
    if (count <= keep) return;
  }
}

void RotateLog(Container& c) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm date;
  gmtime_r(&now.tv_sec, &date);
  char name[kMaxText + 64];
  const int length = snprintf(name, sizeof(name), "%s.", c.log);
  strftime(name + length, sizeof(name) - static_cast<size_t>(length), "%Y%m%d-%H%M%S", &date);
  char* const end = name + strlen(name);
  snprintf(end, 16, ".%09ld", now.tv_nsec);
  if (rename(c.log, name) != 0) unlink(c.log);
  DropOldLogs(c, (c.max_files > 2 ? c.max_files : 2) - 1);
  OpenLog(c);
}

void WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // a full disk: what does not fit is lost, the container goes on
    data += n;
    size -= static_cast<size_t>(n);
  }
}

void LogLine(Container& c, int stream, const char* data, int size, bool complete) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm date;
  gmtime_r(&now.tv_sec, &date);
  static char text[kMaxLine + 128];
  size_t length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &date);
  length += static_cast<size_t>(snprintf(text + length, 64, ".%09ldZ %s %c ", now.tv_nsec,
                                         stream == 1 ? "stdout" : "stderr", complete ? 'F' : 'P'));
  memcpy(text + length, data, static_cast<size_t>(size));
  length += static_cast<size_t>(size);
  text[length++] = '\n';
  if (c.log_size > 0 && c.log_size + static_cast<long long>(length) > c.max_size) RotateLog(c);
  WriteAll(c.log_fd, text, length);
  c.log_size += static_cast<long long>(length);
}

void LogOutput(Container& c, int stream, const char* data, int size) {
  char* const line = c.line[stream - 1];
  int& held = c.held[stream - 1];
  for (int i = 0; i < size; ++i) {
    if (data[i] != '\n' && held < kMaxLine) {
      line[held++] = data[i];
      continue;
    }
    LogLine(c, stream, line, held, data[i] == '\n');
    held = 0;
    if (data[i] != '\n') line[held++] = data[i];
  }
}

void FlushLog(Container& c) {
  for (int stream = 1; stream <= 2; ++stream)
    if (c.held[stream - 1] > 0) LogLine(c, stream, c.line[stream - 1], c.held[stream - 1], false);
  c.held[0] = c.held[1] = 0;
}

// ---- clients ----

bool Send(int client, const char* data, size_t size, bool wait) {
  for (;;) {
    if (send(client, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait) return false;
    pollfd ready = {client, POLLOUT, 0};
    if (poll(&ready, 1, kSlowClientMillis) <= 0) return false;
  }
}

// Letter and fields, which end with a null pointer.
size_t Compose(char* out, size_t room, char letter, const char* a, const char* b = nullptr,
               const char* c = nullptr) {
  size_t length = 0;
  out[length++] = letter;
  for (const char* field : {a, b, c}) {
    if (!field) break;
    const size_t size = strlen(field) + 1;
    if (length + size > room) break;
    memcpy(out + length, field, size);
    length += size;
  }
  return length;
}

void TellAll(const char* data, size_t size) {
  for (const int client : clients)
    if (client >= 0) Send(client, data, size, true);
}

void TellOutput(Container& c, int stream, const char* data, int size) {
  static char out[kMaxMonitorPacket];
  for (int i = 0; i < kMaxClients; ++i) {
    if (clients[i] < 0) continue;
    if (c.wants_output & (1u << i)) {
      size_t length = Compose(out, sizeof(out), 'O', c.id, stream == 1 ? "1" : "2");
      memcpy(out + length, data, static_cast<size_t>(size));
      length += static_cast<size_t>(size);
      if (!Send(clients[i], out, length, true)) c.wants_output &= ~(1u << i);
    }
    if (c.wants_growth & (1u << i)) {
      // If there is no room, older packets are still to be read: whoever reads them then sees the log as it
      // is now.
      char grown[160];
      Send(clients[i], grown, Compose(grown, sizeof(grown), 'G', c.id), false);
    }
  }
}

void DropClient(int index) {
  CloseFd(clients[index]);
  for (Container* c : containers) {
    if (!c) continue;
    c->wants_output &= ~(1u << index);
    c->wants_growth &= ~(1u << index);
  }
}

// ---- containers ----

// False when there is nothing more for now.
bool ReadOutput(Container& c, int stream) {
  int& fd = stream == 1 ? c.out : c.err;
  if (fd < 0) return false;
  char data[kMonitorReadSize];
  const ssize_t n = read(fd, data, sizeof(data));
  if (n > 0) {
    LogOutput(c, stream, data, static_cast<int>(n));
    TellOutput(c, stream, data, static_cast<int>(n));
    return true;
  }
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) CloseFd(fd);
  return false;
}

void QuitIfEmpty() {
  for (const Container* c : containers)
    if (c) return;
  if (!quitting) return;
  unlink(kMonitorSocket);
  _exit(0);
}

void Forget(Container& c) {
  for (int* fd : {&c.in, &c.out, &c.err, &c.console, &c.log_fd}) CloseFd(*fd);
  for (Container*& known : containers)
    if (known == &c) known = nullptr;
  free(&c);
  QuitIfEmpty();
}

void WriteExit(const Container& c, int status, long long when) {
  char path[kMaxText + 16], temporary[kMaxText + 16], text[64];
  snprintf(path, sizeof(path), "%s/exit", c.folder);
  snprintf(temporary, sizeof(temporary), "%s/exit.tmp", c.folder);
  const int length = snprintf(text, sizeof(text), "%d %lld\n", status, when);
  const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  WriteAll(fd, text, static_cast<size_t>(length));
  fsync(fd);
  close(fd);
  rename(temporary, path);
}

void ContainerEnded(Container& c, int status) {
  while (ReadOutput(c, 1)) {
  }
  while (ReadOutput(c, 2)) {
  }
  FlushLog(c);
  char status_text[16], when_text[32], out[256];
  const long long when = NowNanos();
  WriteExit(c, status, when);
  snprintf(status_text, sizeof(status_text), "%d", status);
  snprintf(when_text, sizeof(when_text), "%lld", when);
  TellAll(out, Compose(out, sizeof(out), 'X', c.id, status_text, when_text));
  Forget(c);
}

// The terminal's master side, which runc sends.
void TakeConsole(Container& c) {
  const int peer = accept4(c.console, nullptr, nullptr, SOCK_CLOEXEC);
  CloseFd(c.console);
  if (peer < 0) return;
  char name[256];
  iovec data = {name, sizeof(name)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(peer, &message, MSG_CMSG_CLOEXEC) > 0) {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&c.out, CMSG_DATA(header), sizeof(int));
  }
  close(peer);
  if (c.out < 0) return;
  fcntl(c.out, F_SETFL, O_NONBLOCK);
  c.in = fcntl(c.out, F_DUPFD_CLOEXEC, 0);
  Watch(c.out);
}

void RuncEnded(Container& c, int status) {
  c.runc = 0;
  char path[kMaxText + 16], text[32] = "", out[256];
  snprintf(path, sizeof(path), "%s/pid", c.folder);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t n = read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    close(fd);
  }
  c.pid = atoi(text);
  if (status == 0 && c.pid > 0) {
    if (c.console >= 0) TakeConsole(c);
    return TellAll(out, Compose(out, sizeof(out), 'S', c.id, text));
  }
  TellAll(out, Compose(out, sizeof(out), 'F', c.id));
  Forget(c);
}

void Reap() {
  signalfd_siginfo ignored;
  while (read(signals, &ignored, sizeof(ignored)) > 0) {
  }
  int status;
  // runc first: a container that has ended already is known by its pid only then.
  siginfo_t info = {};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0) {
    Container* ended = nullptr;
    bool runc_runs = false;
    for (Container* c : containers) {
      if (!c) continue;
      if (c->runc == info.si_pid || (c->runc == 0 && c->pid == info.si_pid)) ended = c;
      runc_runs = runc_runs || c->runc > 0;
    }
    if (!ended && runc_runs) {
      // Perhaps a container whose runc has not been seen to end: look at every runc, then once more.
      bool found = false;
      for (Container* c : containers)
        if (c && c->runc > 0 && waitpid(c->runc, &status, WNOHANG) == c->runc) {
          RuncEnded(*c, status);
          found = true;
        }
      if (found) continue;
      return;  // runc's own end brings us back
    }
    if (waitpid(info.si_pid, &status, WNOHANG) != info.si_pid) return;
    if (ended && ended->runc == info.si_pid)
      RuncEnded(*ended, status);
    else if (ended)
      ContainerEnded(*ended, status);
    info = {};
  }
}

[[noreturn]] void RunRunc(const Container& c, const char* runc, const char* root, int in, int out, int err) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (chdir(c.folder) != 0) _exit(127);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  const char* arguments[20] = {runc,  "--root",   root,       "--log",  "runc.log",   "--log-format", "json",
                               "run", "--detach", "--bundle", c.folder, "--pid-file", "pid"};
  int count = 13;
  if (c.tty) {
    arguments[count++] = "--console-socket";
    arguments[count++] = "console.sock";
  }
  arguments[count++] = c.id;
  umask(0022);  // of the cgroups that it makes, which containers see
  execv(runc, const_cast<char* const*>(arguments));
  _exit(127);
}

int ListenAt(const char* name) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
  unlink(name);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(fd, 1) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// The streams of a container without a terminal; the child's ends are given back.
bool MakePipes(Container& c, bool with_input, int child[3]) {
  int in[2] = {-1, -1}, out[2], err[2];
  if (with_input && pipe2(in, O_CLOEXEC) != 0) return false;
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return false;
  child[0] = with_input ? in[0] : open("/dev/null", O_RDONLY | O_CLOEXEC);
  child[1] = out[1];
  child[2] = err[1];
  c.in = in[1];
  c.out = out[0];
  c.err = err[0];
  for (const int fd : {c.in, c.out, c.err})
    if (fd >= 0) fcntl(fd, F_SETFL, O_NONBLOCK);
  Watch(c.out);
  Watch(c.err);
  return true;
}

// Fields: id folder tty stdin log max_size max_files runc root.
void Run(char* fields[]) {
  char out[256];
  const size_t failed = Compose(out, sizeof(out), 'F', fields[0]);
  int slot = 0;
  while (slot < kMaxContainers && containers[slot]) ++slot;
  if (slot == kMaxContainers || Find(fields[0])) return TellAll(out, failed);
  auto* const made = static_cast<Container*>(calloc(1, sizeof(Container)));
  if (!made) return TellAll(out, failed);
  Container& c = *made;
  c.in = c.out = c.err = c.console = c.log_fd = -1;
  containers[slot] = made;
  snprintf(c.id, sizeof(c.id), "%s", fields[0]);
  snprintf(c.folder, sizeof(c.folder), "%s", fields[1]);
  snprintf(c.log, sizeof(c.log), "%s", fields[4]);
  c.tty = *fields[2] == '1';
  c.max_size = atoll(fields[5]);
  c.max_files = atoi(fields[6]);
  OpenLog(c);
  int child[3] = {-1, -1, -1};
  bool good = true;
  if (c.tty) {
    good = chdir(c.folder) == 0 && (c.console = ListenAt("console.sock")) >= 0;
    for (int& fd : child) fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  } else {
    good = MakePipes(c, *fields[3] == '1', child);
  }
  c.runc = good ? fork() : -1;
  if (c.runc == 0) RunRunc(c, fields[7], fields[8], child[0], child[1], child[2]);
  for (int& fd : child) CloseFd(fd);
  if (c.runc > 0) return;
  TellAll(out, failed);
  Forget(c);
}

void Attach(int index, Container& c) {
  c.wants_output |= 1u << index;
  char out[160];
  iovec data = {out, Compose(out, sizeof(out), 'A', c.id)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (c.in >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &c.in, sizeof(int));
  }
  sendmsg(clients[index], &message, MSG_NOSIGNAL);
}

void Handle(int index, size_t size) {
  char* fields[kMaxFields];
  int count = 0;
  packet[size < sizeof(packet) ? size : sizeof(packet) - 1] = 0;
  for (char* at = packet + 1; at < packet + size && count < kMaxFields; at += strlen(at) + 1)
    fields[count++] = at;
  if (packet[0] == 'Q') {
    quitting = true;
    return QuitIfEmpty();
  }
  if (packet[0] == 'R' && count == 9) return Run(fields);
  Container* const c = count == 1 ? Find(fields[0]) : nullptr;
  if (!c) return;
  if (packet[0] == 'A') Attach(index, *c);
  if (packet[0] == 'D') c->wants_output &= ~(1u << index);
  if (packet[0] == 'L') c->wants_growth |= 1u << index;
  if (packet[0] == 'C' && !c->tty) CloseFd(c->in);
}

void Receive(int index) {
  const ssize_t n = recv(clients[index], packet, sizeof(packet) - 1, MSG_DONTWAIT);
  if (n > 0) return Handle(index, static_cast<size_t>(n));
  if (n == 0 || errno != EAGAIN) DropClient(index);
}

void Accept() {
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  for (int& client : clients)
    if (client < 0) {
      client = fd;
      return Watch(fd);
    }
  close(fd);
}

void Dispatch(int fd) {
  if (fd == signals) return Reap();
  if (fd == listener) return Accept();
  for (int i = 0; i < kMaxClients; ++i)
    if (clients[i] == fd) return Receive(i);
  for (Container* c : containers) {
    if (!c) continue;
    if (c->out == fd) return static_cast<void>(ReadOutput(*c, 1));
    if (c->err == fd) return static_cast<void>(ReadOutput(*c, 2));
  }
}

void Setup(const char* folder, const char* hostname) {
  if (chdir(folder) != 0) Die(folder);
  if (setsid() < 0) Die("setsid");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) Die("subreaper");
  if (unshare(CLONE_NEWIPC | (*hostname ? CLONE_NEWUTS : 0)) != 0) Die("unshare");
  if (*hostname && sethostname(hostname, strlen(hostname)) != 0) Die("sethostname");
  sigset_t mask;
  sigfillset(&mask);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  for (int& client : clients) client = -1;
  listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof(address.sun_path), "%s", kMonitorSocket);
  unlink(kMonitorSocket);
  umask(0077);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(listener, 8) != 0)
    Die("listen");
  Watch(listener);
  Watch(signals);
}

void WritePid(const char* file, pid_t pid) {
  char text[32];
  const int length = snprintf(text, sizeof(text), "%d\n", pid);
  const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) Die(file);
  WriteAll(fd, text, static_cast<size_t>(length));
  close(fd);
}

// The first process of a PID namespace: it reaps what others leave, and ends with the monitor.
[[noreturn]] void Pause(char** argv) {
  // Containers see its command line: not the machine's paths.
  for (char** word = argv; *word; ++word) memset(*word, 0, strlen(*word));
  memcpy(argv[0], "/pause", 6);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "pause");
  for (int fd = 0; fd < 3; ++fd) close(fd);
  // As Kubernetes' pause: nothing of the monitor is open in what containers may look at.
  close_range(3, ~0u, 0);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  for (;;) {
    sigwaitinfo(&mask, nullptr);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

// Children of the monitor itself stay in the machine's PID namespace: runc has to see that one.
void SharePids(char** argv) {
  const int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  if (own < 0 || unshare(CLONE_NEWPID) != 0) Die("unshare");
  const pid_t pause_pid = fork();
  if (pause_pid < 0) Die("fork");
  if (pause_pid == 0) Pause(argv);
  if (setns(own, CLONE_NEWPID) != 0) Die("setns");
  close(own);
  WritePid("pause.pid", pause_pid);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    dprintf(STDERR_FILENO, "usage: flyball-monitor POD_FOLDER HOSTNAME [share-pid]\n");
    return 2;
  }
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) Die("pipe");
  const pid_t child = fork();
  if (child < 0) Die("fork");
  if (child > 0) {
    close(ready[1]);
    char byte;
    return read(ready[0], &byte, 1) == 1 ? 0 : 1;
  }
  Setup(argv[1], argv[2]);
  if (argc == 4) SharePids(argv);
  WritePid("monitor.pid", getpid());
  if (write(ready[1], "r", 1) != 1) return 1;
  close(ready[0]);
  close(ready[1]);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  close(null);
  for (;;) {
    epoll_event event;
    if (epoll_wait(epoll_fd, &event, 1, -1) == 1) Dispatch(event.data.fd);
  }
}
