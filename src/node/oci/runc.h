// Runc: calls of the OCI runtime that wait for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "json/value.h"
#include "node/runtime/native_process.h"

namespace flyball::node {

// Runs a program to its end and returns what it wrote, up to a few kilobytes. InternalError with that if it
// fails. Blocks.
Result<std::string> RunProgramToEnd(ProcessLoop& loop, const ProcessSpec& spec);

// Thread-safe.
class Runc {
 public:
  // `root`: where it keeps its state.
  Runc(std::string program, std::string root, std::shared_ptr<ProcessLoop> loop)
      : program_(std::move(program)), root_(std::move(root)), loop_(std::move(loop)) {}

  // The path of the runtime; empty if there is none on this machine.
  static std::string FindProgram();

  const std::string& program() const { return program_; }
  const std::string& root() const { return root_; }

  // Kills what is left of a container and forgets it. Nothing if it is not known.
  void Delete(const std::string& id) const;
  // Gives a running container other resources, by way of that file.
  Status Update(const std::string& id, const std::string& file, const json::Value& resources) const;
  // Runs a command beside a container; its process is named in `pid_file`.
  ProcessSpec ExecSpec(const std::string& id, const StreamRequest& request,
                       const std::string& pid_file) const;

 private:
  const std::string program_, root_;
  const std::shared_ptr<ProcessLoop> loop_;
};

}  // namespace flyball::node
