#include "cli/kubectl/streams/remote_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <optional>

#include "api/wire/status.h"
#include "base/run/mutex.h"
#include "base/run/notification.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/streams/wake_up.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

enum Channel : char { kStdin = 0, kStdout = 1, kStderr = 2, kStatus = 3, kResize = 4 };
constexpr char kCloseChannel = '\xff';  // v5: the next byte names a channel that ends
constexpr std::size_t kInputChunk = 32 * 1024;
constexpr std::size_t kMostPending = 1 << 20;  // input waits while this much is on its way

std::atomic<const WakeUp*> size_changes{nullptr};
void OnSizeChange(int) {
  if (const WakeUp* wake = size_changes.load()) wake->Ring();
}

// Puts the terminal into raw mode for as long as it lives.
class RawTerminal {
 public:
  explicit RawTerminal(bool wanted) {
    if (!wanted || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  termios before_{};
  bool changed_ = false;
};

// Reports changes of the terminal's size to a WakeUp for as long as it lives.
class SizeSignal {
 public:
  explicit SizeSignal(const WakeUp& wake) {
    size_changes = &wake;
    struct sigaction action {};
    action.sa_handler = &OnSizeChange;
    ::sigaction(SIGWINCH, &action, &before_);
  }
  SizeSignal(const SizeSignal&) = delete;
  SizeSignal& operator=(const SizeSignal&) = delete;
  ~SizeSignal() {
    ::sigaction(SIGWINCH, &before_, nullptr);
    size_changes = nullptr;
  }

 private:
  struct sigaction before_ {};
};

void WriteAll(int descriptor, std::string_view data) {
  while (!data.empty()) {
    const auto written = ::write(descriptor, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads any more
    data.remove_prefix(static_cast<std::size_t>(written));
  }
}

// What the WebSocket's thread tells the one that waits. Thread-safe; both share it.
struct RemoteState {
  explicit RemoteState(int out) : output(out) {}

  const int output;
  WakeUp wake;
  std::atomic<bool> closed{false};
  Mutex mutex;
  std::string status FLYBALL_GUARDED_BY(mutex);  // the Status object on its channel

  void OnMessage(std::string_view message) {
    if (message.empty()) return;
    const std::string_view data = message.substr(1);
    if (message[0] == kStdout) WriteAll(output, data);
    if (message[0] == kStderr) WriteAll(STDERR_FILENO, data);
    if (message[0] != kStatus) return;
    const MutexLock lock(mutex);
    status.append(data);
  }
  void OnClose() {
    closed = true;
    wake.Ring();
  }
};

void SendTo(net::WebSocket& socket, char channel, std::string_view data) {
  std::string message(1, channel);
  message.append(data);
  socket.Send(net::WebSocket::Type::kBinary, std::move(message));
}

void SendSize(net::WebSocket& socket) {
  winsize size{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0) return;
  const json::Value body =
      json::Object{{"Width", static_cast<int>(size.ws_col)}, {"Height", static_cast<int>(size.ws_row)}};
  SendTo(socket, kResize, json::Write(body));
}

// Reads once; false at the end of the input.
bool PassInput(net::WebSocket& socket, int input) {
  std::array<char, kInputChunk> buffer;
  const auto size = ::read(input, buffer.data(), buffer.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (size > 0) {
    SendTo(socket, kStdin, {buffer.data(), static_cast<std::size_t>(size)});
    return true;
  }
  SendTo(socket, kCloseChannel, std::string_view("\0", 1));
  return false;
}

void Pump(net::WebSocket& socket, RemoteState& state, const RemoteStreams& streams) {
  const RawTerminal raw(streams.tty);
  const SizeSignal sizes(state.wake);
  if (streams.tty) SendSize(socket);
  bool reads = streams.in;
  while (!state.closed) {
    const bool full = socket.pending_bytes() > kMostPending;
    std::array<pollfd, 2> waits{{{state.wake.descriptor(), POLLIN, 0}, {streams.input, POLLIN, 0}}};
    constexpr int kFullPollMs = 20;  // until some of what is pending has been sent
    ::poll(waits.data(), reads && !full ? 2 : 1, full ? kFullPollMs : -1);
    if (waits[0].revents != 0) {
      state.wake.Clear();
      if (streams.tty && !state.closed) SendSize(socket);
    }
    if (reads && !full && waits[1].revents != 0) reads = PassInput(socket, streams.input);
  }
}

// The command's exit status from the Status it ended with.
Result<int> ExitStatus(const std::string& text) {
  if (text.empty()) return 0;
  auto status = json::Parse(text);
  if (!status) return Unexpected(LocalError("the server sent a malformed status: " + text));
  if ((*status)["status"].string_or("") == "Success") return 0;
  const json::Value& parsed = *status;
  if (parsed["reason"].string_or("") == "NonZeroExitCode")
    for (const json::Value& cause : Elements(parsed["details"]["causes"]))
      if (cause["reason"].string_or("") == "ExitCode") {
        const std::string code(cause["message"].string_or("1"));
        return std::atoi(code.c_str());
      }
  return Unexpected(LocalError(std::string(parsed["message"].string_or("the command failed"))));
}

}  // namespace

Result<int> RunRemote(Session& session, RestRequest request, const RemoteStreams& streams) {
  auto state = std::make_shared<RemoteState>(streams.output);
  auto opened = std::make_shared<Notification<Result<std::shared_ptr<net::WebSocket>>>>();
  session.rest().OpenWebSocket(std::move(request), {"v5.channel.k8s.io", "v4.channel.k8s.io"},
                               [state, opened](Result<std::shared_ptr<net::WebSocket>> socket) {
                                 if (socket) {
                                   (*socket)->OnMessage([state](net::WebSocket::Type, std::string message) {
                                     state->OnMessage(message);
                                   });
                                   (*socket)->OnClose([state] { state->OnClose(); });
                                 }
                                 opened->Set(std::move(socket));
                               });
  const auto socket = opened->Wait();
  if (!socket) return Unexpected(socket.error());
  Pump(**socket, *state, streams);
  const MutexLock lock(state->mutex);
  return ExitStatus(state->status);
}

}  // namespace flyball::cli
