#include "node/streams/remote_command.h"

#include "api/wire/status.h"
#include "base/observe/log.h"
#include "base/run/mutex.h"
#include "json/json.h"

namespace flyball::node {
namespace {

// What a client may owe us, or we it, before the other end is held back; and when it goes on.
constexpr std::size_t kHigh = 1u << 20;
constexpr std::size_t kLow = 256u << 10;
// An attached client that reads slower than the container writes is cut off here: the container is not held
// back for it.
constexpr std::size_t kTooSlow = 8u << 20;

json::Value SuccessStatus() {
  return json::Object{{"metadata", json::Object{}}, {"status", "Success"}};
}

json::Value FailureStatus(const std::string& what) {
  return api::StatusFromError(Error(Reason::kInternalError, 500, "Internal error occurred: " + what,
                                    ErrorDetails{.causes = {{"", what, ""}}}));
}

class RemoteCommand : public std::enable_shared_from_this<RemoteCommand> {
 public:
  RemoteCommand(RemoteAction action, StreamRequest request, std::shared_ptr<RemoteStreams> streams)
      : action_(action), request_(std::move(request)), streams_(std::move(streams)) {}

  void Start(const FoundPod& pod) {
    const auto self = shared_from_this();
    StreamEvents events{
        .output = [self](Stream stream, std::string_view data) { self->Output(stream, data); },
        .input_taken = [self](std::size_t bytes) { self->InputTaken(bytes); },
        .ended = [self](const ContainerExit& exit) { self->Ended(exit); }};
    auto opened = action_ == RemoteAction::kExec
                      ? pod.runtime->OpenExec(pod.container_id, request_, std::move(events))
                      : pod.runtime->Attach(pod.container_id, request_, std::move(events));
    if (!opened) {
      const char* doing = action_ == RemoteAction::kExec ? "error executing command in container: "
                                                         : "error attaching to container: ";
      return streams_->Finish(FailureStatus(doing + opened.error().message()));
    }
    {
      MutexLock lock(mu_);
      handle_ = std::move(*opened);
    }
    streams_->Listen({.input = [self](std::string_view data) { self->Input(data); },
                      .input_end = [self] { self->With([](StreamHandle& h) { h.CloseInput(); }); },
                      .resize =
                          [self](TerminalSize size) {
                            if (size.width > 0 && size.height > 0)
                              self->With([size](StreamHandle& h) { h.Resize(size); });
                          },
                      .gone = [self] { self->Gone(); }});
  }

 private:
  template <typename Fn>
  void With(Fn fn) {
    std::shared_ptr<StreamHandle> handle;
    {
      MutexLock lock(mu_);
      handle = handle_;
    }
    if (handle) fn(*handle);
  }

  void Input(std::string_view data) {
    {
      MutexLock lock(mu_);
      input_pending_ += data.size();
      if (input_pending_ > kHigh && !std::exchange(input_paused_, true)) streams_->PauseInput(true);
    }
    With([&](StreamHandle& h) { h.WriteInput(std::string(data)); });
  }
  void InputTaken(std::size_t bytes) {
    MutexLock lock(mu_);
    input_pending_ -= std::min(bytes, input_pending_);
    if (input_pending_ <= kLow && std::exchange(input_paused_, false)) streams_->PauseInput(false);
  }

  void Output(Stream stream, std::string_view data) {
    if (!(stream == Stream::kStdout ? request_.stdout : request_.stderr)) return;
    if (!streams_->Write(stream, data)) return;
    if (streams_->pending_bytes() > kTooSlow) return CutOff();
    if (streams_->pending_bytes() <= kHigh) return;
    With([self = shared_from_this()](StreamHandle& h) {
      if (!h.PauseOutput(true)) return;
      self->streams_->OnDrained(
          kLow, [self] { self->With([](StreamHandle& again) { again.PauseOutput(false); }); });
    });
  }
  void CutOff() {
    log::Info("an attached client reads too slowly and is cut off");
    Gone();
    streams_->Finish(FailureStatus("the client reads too slowly"));
  }

  void Ended(const ContainerExit& exit) {
    {
      MutexLock lock(mu_);
      handle_ = nullptr;
    }
    // Who is attached learns from the pod how it ended.
    streams_->Finish(action_ == RemoteAction::kExec ? ExecStatus(request_, exit) : SuccessStatus());
  }
  void Gone() {
    std::shared_ptr<StreamHandle> handle;
    {
      MutexLock lock(mu_);
      handle.swap(handle_);
    }
    if (handle) handle->Stop();
  }

  const RemoteAction action_;
  const StreamRequest request_;
  const std::shared_ptr<RemoteStreams> streams_;
  Mutex mu_;
  std::shared_ptr<StreamHandle> handle_ FLYBALL_GUARDED_BY(mu_);  // while both are there
  std::size_t input_pending_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool input_paused_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace

json::Value ExecStatus(const StreamRequest& request, const ContainerExit& exit) {
  if (exit.exit_code == 0) return SuccessStatus();
  std::string command;
  for (const std::string& word : request.command) command += (command.empty() ? "" : " ") + word;
  const std::string code = std::to_string(exit.exit_code);
  return json::Object{
      {"metadata", json::Object{}},
      {"status", "Failure"},
      {"message", "command terminated with non-zero exit code: error executing command [" + command +
                      "], exit code " + code},
      {"reason", "NonZeroExitCode"},
      {"details",
       json::Object{{"causes", json::Array{json::Object{{"reason", "ExitCode"}, {"message", code}}}}}}};
}

void RunRemoteCommand(RemoteAction action, const FoundPod& pod, const StreamRequest& request,
                      std::shared_ptr<RemoteStreams> streams) {
  std::make_shared<RemoteCommand>(action, request, std::move(streams))->Start(pod);
}

}  // namespace flyball::node
