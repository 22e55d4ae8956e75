#include "node/oci/runc.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files/durable_file.h"
#include "base/run/notification.h"
#include "json/json.h"

namespace flyball::node {
namespace {

constexpr std::size_t kMaxProgramOutput = 8192;
constexpr char kToolPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace

Result<std::string> RunProgramToEnd(ProcessLoop& loop, const ProcessSpec& spec) {
  struct Run {
    std::string output;  // of the loop's thread until the end
    Notification<int> ended;
  };
  auto run = std::make_shared<Run>();
  ProcessEvents events;
  events.output = [run](Stream, std::string_view data) {
    if (run->output.size() < kMaxProgramOutput) run->output.append(data.substr(0, kMaxProgramOutput));
  };
  events.exited = [run](int status) { run->ended.Set(status); };
  FLYBALL_TRY(loop.Spawn(spec, std::move(events)));
  const int status = run->ended.Wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return run->output;
  return Unexpected(InternalError(spec.argv[0] + " has failed: " + run->output));
}

std::string Runc::FindProgram() {
  const char* own = std::getenv("PATH");
  const std::string path = std::string(own ? own : "") + ":" + kToolPath;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string program = path.substr(begin, end - begin) + "/runc";
    if (program.starts_with('/') && access(program.c_str(), X_OK) == 0) return program;
    begin = end + 1;
  }
  return {};
}

void Runc::Delete(const std::string& id) const {
  (void)RunProgramToEnd(
      *loop_, {.argv = {program_, "--root", root_, "delete", "--force", id}, .env = {{"PATH", kToolPath}}});
}

Status Runc::Update(const std::string& id, const std::string& file, const json::Value& resources) const {
  FLYBALL_TRY(WriteFileDurably(file, json::Write(resources)));
  FLYBALL_TRY(RunProgramToEnd(*loop_, {.argv = {program_, "--root", root_, "update", "--resources", file, id},
                                       .env = {{"PATH", kToolPath}}}));
  return {};
}

ProcessSpec Runc::ExecSpec(const std::string& id, const StreamRequest& request,
                           const std::string& pid_file) const {
  ProcessSpec spec{.argv = {program_, "--root", root_, "exec", "--pid-file", pid_file},
                   .env = {{"PATH", kToolPath}},
                   .input = request.stdin,
                   .terminal = request.tty};
  if (request.tty) spec.argv.push_back("--tty");
  spec.argv.push_back(id);
  spec.argv.insert(spec.argv.end(), request.command.begin(), request.command.end());
  return spec;
}

}  // namespace flyball::node
