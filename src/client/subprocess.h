// Running another program and reading what it prints.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/values/result.h"

namespace flyball {

struct ProcessOutput {
  int exit_code = 0;
  std::string out;    // standard output
  std::string err{};  // standard error, of FeedProcess; else it goes where ours goes
};

// Blocks until it ends. The environment is ours with `env` added; standard input is ours, or empty. NotFound
// if there is no such program.
enum class ProcessInput { kOurs, kEmpty };
Result<ProcessOutput> RunProcess(const std::string& command, const std::vector<std::string>& args,
                                 const std::vector<std::pair<std::string, std::string>>& env,
                                 ProcessInput input = ProcessInput::kEmpty);
// The same, and it reads `input`.
Result<ProcessOutput> FeedProcess(const std::string& command, const std::vector<std::string>& args,
                                  const std::vector<std::pair<std::string, std::string>>& env,
                                  std::string_view input);

}  // namespace flyball
