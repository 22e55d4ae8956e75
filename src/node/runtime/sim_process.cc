#include "node/runtime/sim_process.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "base/values/ascii.h"
#include "node/runtime/sim_runtime.h"

namespace flyball::node {
namespace {

constexpr std::chrono::seconds kLongest = std::chrono::hours(24 * 365);

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "30", "30s", "5m", "2h", "1d".
std::optional<std::chrono::seconds> SleepTime(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t unit = 1;
  constexpr std::string_view kUnits = "smhd";
  constexpr std::int64_t kSeconds[] = {1, 60, 3600, 86400};
  if (const auto place = kUnits.find(text.back()); place != std::string_view::npos) {
    unit = kSeconds[place];
    text.remove_suffix(1);
  }
  const auto number = WholeNumber(text);
  if (!number) return std::nullopt;
  return std::chrono::seconds(std::min(*number, kLongest.count() / unit) * unit);
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The last part of an image's name, without tag and digest.
std::string_view ImageName(std::string_view image) {
  image = BaseName(image.substr(0, image.find('@')));
  return image.substr(0, image.find(':'));
}

struct Understood {
  bool known = false;
  std::optional<SimEnd> end;  // none: it does not end by itself
};

Understood ReadWords(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string_view program = BaseName(words[0]);
  if (program == "pause") return {true, std::nullopt};
  if (program == "true") return {true, SimEnd{kSimRunTime, 0}};
  if (program == "false") return {true, SimEnd{kSimRunTime, 1}};
  if (program == "sleep" && words.size() == 2) {
    if (words[1] == "infinity" || words[1] == "inf") return {true, std::nullopt};
    if (const auto time = SleepTime(words[1])) return {true, SimEnd{*time, 0}};
  }
  if (program == "exit" && words.size() <= 2) {
    const auto code = words.size() == 2 ? WholeNumber(words[1]) : std::optional<std::int64_t>(0);
    if (code && *code < 256) return {true, SimEnd{kSimRunTime, static_cast<int>(*code)}};
  }
  return {};
}

// `sh -c SCRIPT` of one command, or of a sleep and then another one.
Understood ReadScript(std::string_view script) {
  Duration slept{};
  for (;;) {
    const std::size_t end = script.find_first_of(";\n&|");
    const auto first = ReadWords(SplitWords(Trimmed(script.substr(0, end))));
    if (!first.known) return {};
    if (!first.end) return first;
    std::string_view rest = end == std::string_view::npos ? std::string_view{} : script.substr(end);
    rest = Trimmed(rest, ";\n& ");
    if (rest.empty()) return {true, SimEnd{slept + first.end->after, first.end->exit_code}};
    if (first.end->exit_code != 0 || rest.front() == '|') return {};
    slept += first.end->after;
    script = rest;
  }
}

Understood ReadCommand(const ContainerConfig& config) {
  std::vector<std::string> words = config.command;
  words.insert(words.end(), config.args.begin(), config.args.end());
  if (words.empty())
    words.emplace_back(ImageName(config.image));  // most images run the program they are named after
  if (words.size() == 3 && words[1] == "-c") {
    const std::string_view shell = BaseName(words[0]);
    if (shell == "sh" || shell == "bash" || shell == "ash" || shell == "dash") return ReadScript(words[2]);
  }
  return ReadWords(words);
}

}  // namespace

bool SimImageExists(std::string_view image) {
  if (image.starts_with("invalid.")) return false;
  const std::size_t colon = image.rfind(':');
  if (colon == std::string_view::npos || image.find('/', colon) != std::string_view::npos) return true;
  const std::string_view tag = image.substr(colon + 1);
  return tag != "non-existent" && tag != "404";
}

SimUse SimUseOf(const Pod& pod, const std::string& container) {
  const Container* spec = nullptr;
  for (const auto* list : {&pod.spec.init_containers, &pod.spec.containers})
    for (const Container& each : *list)
      if (each.name == container) spec = &each;
  const auto amount = [&](const std::string& annotation, const char* resource) -> api::Quantity {
    for (const std::string& key : {annotation + "." + container, annotation})
      if (const auto found = pod.metadata.annotations.find(key); found != pod.metadata.annotations.end())
        if (const auto quantity = api::Quantity::Parse(found->second)) return *quantity;
    if (!spec) return {};
    const auto found = spec->resources.requests.find(resource);
    return found == spec->resources.requests.end() ? api::Quantity() : found->second;
  };
  return {.cpu_milli = std::max<std::int64_t>(amount(kSimUsageCpu, "cpu").MilliValue(), 0),
          .memory = std::max<std::int64_t>(amount(kSimUsageMemory, "memory").Value(), 0)};
}

std::optional<SimEnd> SimEndOf(const ContainerConfig& config) {
  if (const auto after = config.annotations.find(kSimExitAfter); after != config.annotations.end()) {
    const auto code = config.annotations.find(kSimExitCode);
    return SimEnd{std::chrono::seconds(std::atoi(after->second.c_str())),
                  code == config.annotations.end() ? 0 : std::atoi(code->second.c_str())};
  }
  const Understood command = ReadCommand(config);
  if (command.known) return command.end;
  if (config.runs_to_completion) return SimEnd{kSimWorkTime, 0};
  return std::nullopt;
}

}  // namespace flyball::node
