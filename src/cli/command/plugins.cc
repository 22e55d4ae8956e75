#include "cli/command/plugins.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "base/values/ascii.h"

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "kubectl-";

std::vector<std::string> PathFolders() {
  const char* path = std::getenv("PATH");
  return SplitText(path ? path : "", ':');
}

std::string FindOnPath(const std::string& name) {
  for (const std::string& folder : PathFolders()) {
    const std::string path = folder + "/" + name;
    std::error_code ec;
    if (!folder.empty() && fs::is_regular_file(path, ec) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// This program as it was called: a link named kubectl is not the same as what it leads to.
std::string OwnPath() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string name;
  std::getline(in, name, '\0');
  std::error_code unknown;
  if (name.find('/') != std::string::npos) return fs::absolute(name, unknown).string();
  const std::string found = FindOnPath(name);
  return found.empty() ? fs::read_symlink("/proc/self/exe", unknown).string() : found;
}

void Execute(const std::string& path, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), path);
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  std::cout.flush();
  // Where this program is, for plugins that call it.
  ::setenv("KUBECTL_PATH", OwnPath().c_str(), 1);
  ::execv(path.c_str(), raw.data());
}

}  // namespace

void RunPlugin(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    if (word.starts_with("-")) break;
    names.push_back(word);
    std::replace(names.back().begin(), names.back().end(), '-', '_');
  }
  for (; !names.empty(); names.pop_back()) {
    std::string program = kPrefix + names[0];
    for (std::size_t i = 1; i < names.size(); ++i) program += "-" + names[i];
    const std::string path = FindOnPath(program);
    if (!path.empty())
      Execute(path, {words.begin() + static_cast<std::ptrdiff_t>(names.size()), words.end()});
  }
}

std::vector<std::string> FindPlugins() {
  std::vector<std::string> found;
  std::set<std::string> seen;
  for (const std::string& folder : PathFolders()) {
    std::error_code ec;
    if (folder.empty() || !seen.insert(folder).second) continue;
    std::vector<std::string> here;
    fs::directory_iterator entries(folder, ec);
    if (ec)
      std::cerr << "Unable to read directory \"" << folder << "\" from your PATH: open " << folder << ": "
                << (ec == std::errc::no_such_file_or_directory ? "no such file or directory" : ec.message())
                << ". Skipping...\n";
    for (const auto& entry : entries)
      if (entry.path().filename().string().starts_with(kPrefix) && !entry.is_directory(ec))
        here.push_back(entry.path().string());
    std::sort(here.begin(), here.end());
    found.insert(found.end(), here.begin(), here.end());
  }
  return found;
}

}  // namespace flyball::cli
