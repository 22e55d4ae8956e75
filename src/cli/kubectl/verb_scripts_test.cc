// Runs the scripts in tests/verbs against a server in this process: each command must print what its script
// says.
//
//   $ get pods                      a command, without the program's name
//   < kind: List                    lines of its standard input
//   No resources found ...          what it prints
//   ! error: ...                    what it prints to standard error
//   [exit 1]                        if it fails
//
// Lines that begin with '#' are comments. Ages, times, uids and the server's address are masked. With
// FLYBALL_REWRITE=1 in the environment the scripts are rewritten as things are; read the difference.
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/files/temporary_folder.h"
#include "cli/kubectl/session/external_program.h"
#include "cli/kubectl/verbs.h"
#include "cli/programs/cel_command.h"
#include "server/testing/http_fixture.h"
#include "test_data/test_data.h"

namespace flyball::cli {
namespace {

// A stream that another one is in place of, as long as this lives.
class Redirected {
 public:
  Redirected(std::ios& stream, std::streambuf* instead) : stream_(stream), own_(stream.rdbuf(instead)) {}
  ~Redirected() { stream_.rdbuf(own_); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  std::ios& stream_;
  std::streambuf* const own_;
};

struct Step {
  std::string comments;  // above it
  std::string command, input;
  std::string expected;
};

std::vector<Step> ReadScript(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Step> steps;
  std::string line, comments;
  while (std::getline(file, line)) {
    if (line.starts_with("#") || (line.empty() && (steps.empty() || !comments.empty()))) {
      comments += line + "\n";
    } else if (line.starts_with("$ ")) {
      steps.push_back({std::exchange(comments, {}), line.substr(2), {}, {}});
    } else if (line.starts_with("< ") || line == "<") {
      steps.back().input += (line.size() > 2 ? line.substr(2) : "") + "\n";
    } else {
      steps.back().expected += std::exchange(comments, {}) + line + "\n";
    }
  }
  return steps;
}

// Ends in one line end, or is empty.
std::string WithOneEnd(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  return end == std::string::npos ? "" : text.substr(0, end + 1) + "\n";
}

// What differs from run to run, and what a script could not show: lines that look like its own marks.
std::string Masked(std::string text, const std::string& url) {
  static const RE2 uid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  static const RE2 time("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\\.[0-9]+)?Z");
  static const RE2 long_time("[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} [+-][0-9]{4}");
  static const RE2 last_age("(?m) [0-9]{1,2}s *$"), age(" [0-9]{1,2}s {2,}");
  static const RE2 version("(resourceVersion\"?: \"|Resource Version: *)[0-9]+");
  static const RE2 address("10\\.0\\.0\\.[0-9]+"), volume("kube-api-access-[a-z0-9]{5}");
  for (std::size_t at; (at = text.find(url)) != std::string::npos;) text.replace(at, url.size(), "SERVER");
  RE2::GlobalReplace(&text, uid, "UID");
  RE2::GlobalReplace(&text, time, "TIME");
  RE2::GlobalReplace(&text, long_time, "TIME");
  RE2::GlobalReplace(&text, last_age, " AGE");
  RE2::GlobalReplace(&text, age, " AGE   ");
  RE2::GlobalReplace(&text, address, "10.0.0.N");
  RE2::GlobalReplace(&text, volume, "kube-api-access-XXXXX");
  RE2::GlobalReplace(&text, version, "\\1N");
  return text;
}

// Words as a shell splits them: quotes keep spaces.
std::vector<std::string> SplitAsShell(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool any = false;
  for (const char c : command) {
    if (quote != 0 ? c == quote : (c == '\'' || c == '"')) {
      quote = quote != 0 ? '\0' : c;
      any = true;
    } else if (c == ' ' && quote == 0) {
      if (any) words.push_back(std::exchange(word, {}));
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

void DefineVerbs(const Command& root) {
  for (const auto add : {&AddGetCommand,    &AddDescribeCommand,  &AddCreateCommand,  &AddRunCommand,
                         &AddExposeCommand, &AddApplyCommand,     &AddReplaceCommand, &AddPatchCommand,
                         &AddLabelCommands, &AddDrainCommands,    &AddTaintCommand,   &AddDeleteCommand,
                         &AddScaleCommand,  &AddAutoscaleCommand, &AddSetCommand,     &AddRolloutCommand,
                         &AddWaitCommand,   &AddEventsCommand,    &AddExplainCommand, &AddDiscoveryCommands,
                         &AddAuthCommand,   &AddVersionCommand,   &AddCelCommand})
    add(root);
}

class VerbScriptTest : public server::HttpFixture, public testing::WithParamInterface<const char*> {
 protected:
  // Nothing of the user's own: preferences, kubeconfig, cached discovery.
  VerbScriptTest() {
    ::setenv("HOME", home_.path().c_str(), 1);
    ::unsetenv("KUBECONFIG");
  }
  ~VerbScriptTest() override {
    ::setenv("HOME", own_home_.c_str(), 1);
    if (!own_kubeconfig_.empty()) ::setenv("KUBECONFIG", own_kubeconfig_.c_str(), 1);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(http_->port()); }

  // What the command prints, in the form of a script.
  std::string Run(const Step& step) {
    std::vector<std::string> words = SplitAsShell(step.command);
    words.insert(words.begin(), {"--server=" + url(), "--token=admin"});
    std::ostringstream out, err;
    std::istringstream in(step.input);
    int status = 0;
    {
      const Redirected output(std::cout, out.rdbuf()), errors(std::cerr, err.rdbuf()),
          input(std::cin, in.rdbuf());
      status = RunProgram("kubectl", words, &DefineVerbs);
    }
    std::string text = out.str();
    if (!text.empty() && text.back() != '\n') text += '\n';
    std::istringstream lines(err.str());
    for (std::string line; std::getline(lines, line);) text += "! " + line + "\n";
    if (status != 0) text += "[exit " + std::to_string(status) + "]\n";
    return WithOneEnd(Masked(std::move(text), url()));
  }

 private:
  const std::string own_home_ = FromEnvironment({"HOME"}, ""),
                    own_kubeconfig_ = FromEnvironment({"KUBECONFIG"}, "");
  const TemporaryFolder home_ = std::move(*TemporaryFolder::Make());
};

TEST_P(VerbScriptTest, PrintsWhatItsScriptSays) {
  const std::filesystem::path path = TestsFolder() / "verbs" / (std::string(GetParam()) + ".txt");
  const std::vector<Step> steps = ReadScript(path);
  ASSERT_FALSE(steps.empty()) << path;
  std::string script;
  for (const Step& step : steps) {
    const std::string printed = Run(step);
    if (std::getenv("FLYBALL_REWRITE") == nullptr) {
      EXPECT_EQ(printed, WithOneEnd(step.expected)) << "$ " << step.command;
    }
    script += step.comments + "$ " + step.command + "\n";
    std::istringstream input(step.input);
    for (std::string line; std::getline(input, line);) script += line.empty() ? "<\n" : "< " + line + "\n";
    script += printed + "\n";
  }
  if (std::getenv("FLYBALL_REWRITE") != nullptr) std::ofstream(path) << WithOneEnd(script);
}

INSTANTIATE_TEST_SUITE_P(Kubectl, VerbScriptTest,
                         testing::Values("create", "describe", "print", "set", "rollout", "explain", "change",
                                         "mistakes", "cel"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace flyball::cli
