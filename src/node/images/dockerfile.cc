#include "node/images/dockerfile.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "json/json.h"

namespace flyball::node {
namespace {

// Instruction: the fewest arguments.
const std::map<std::string, std::size_t>& KnownInstructions() {
  static const std::map<std::string, std::size_t> known = {
      {"FROM", 1},       {"COPY", 2}, {"ENV", 1},   {"WORKDIR", 1}, {"USER", 1},
      {"ENTRYPOINT", 0}, {"CMD", 0},  {"LABEL", 1}, {"EXPOSE", 1},  {"STOPSIGNAL", 1}};
  return known;
}

Error AtLine(int line, const std::string& what) {
  return BadRequest("Dockerfile line " + std::to_string(line) + ": " + what);
}

// Words apart by white space; quotes keep it, a backslash keeps the next character.
Result<std::vector<std::string>> WordsOf(std::string_view text, int line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && std::isspace(static_cast<unsigned char>(c))) {
      if (std::exchange(in_word, false)) words.push_back(std::exchange(word, {}));
      continue;
    }
    in_word = true;
    if (c == '\\' && quote != '\'' && i + 1 < text.size())
      word += text[++i];
    else if (quote != 0 ? c == quote : (c == '"' || c == '\''))
      quote = quote != 0 ? '\0' : c;
    else
      word += c;
  }
  if (quote != 0) return Unexpected(AtLine(line, "a quote is not closed"));
  if (in_word) words.push_back(word);
  return words;
}

Result<std::vector<std::string>> CommandOf(std::string_view text, int line) {
  if (!text.starts_with('[')) {
    if (text.empty()) return std::vector<std::string>();
    return std::vector<std::string>{"/bin/sh", "-c", std::string(text)};
  }
  const auto list = json::Parse(text);
  std::vector<std::string> words;
  if (!list || !list->is_array()) return Unexpected(AtLine(line, "not a JSON list of strings"));
  for (const json::Value& word : list->as_array()) {
    if (!word.is_string()) return Unexpected(AtLine(line, "not a JSON list of strings"));
    words.emplace_back(word.as_string());
  }
  return words;
}

Result<DockerfileStep> StepOf(std::string_view text, int line) {
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  DockerfileStep step{.line = line, .instruction = std::string(text.substr(0, end)), .arguments = {}};
  for (char& c : step.instruction) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto known = KnownInstructions().find(step.instruction);
  if (known == KnownInstructions().end())
    return Unexpected(AtLine(line, "instruction " + step.instruction +
                                       " is not supported: `flyball image build` runs no containers"));
  std::string_view rest = text.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const bool command = step.instruction == "ENTRYPOINT" || step.instruction == "CMD";
  FLYBALL_ASSIGN(step.arguments, command ? CommandOf(rest, line) : WordsOf(rest, line));
  if (step.arguments.size() < known->second)
    return Unexpected(
        AtLine(line, step.instruction + " needs " + std::to_string(known->second) + " argument(s)"));
  return step;
}

}  // namespace

Result<std::vector<DockerfileStep>> ParseDockerfile(std::string_view text) {
  std::vector<DockerfileStep> steps;
  std::string logical;
  int line = 0, first_line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view one = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    one.remove_prefix(std::min(one.find_first_not_of(" \t\r"), one.size()));
    one = one.substr(0, one.find_last_not_of(" \t\r") + 1);
    if (one.empty() || one.starts_with('#')) continue;
    if (logical.empty()) first_line = line;
    const bool goes_on = one.ends_with('\\');
    logical += goes_on ? one.substr(0, one.size() - 1) : one;
    if (goes_on) continue;
    FLYBALL_ASSIGN(DockerfileStep step, StepOf(logical, first_line));
    steps.push_back(std::move(step));
    logical.clear();
  }
  if (!logical.empty()) return Unexpected(AtLine(first_line, "the file ends within an instruction"));
  if (steps.empty() || steps[0].instruction != "FROM")
    return Unexpected(BadRequest("the Dockerfile does not begin with FROM"));
  return steps;
}

}  // namespace flyball::node
