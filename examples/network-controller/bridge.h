// The outside world of the example: Linux bridges, or files where we may not make bridges.
#pragma once

#include <fcntl.h>
#include <flyball/sdk.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

// Thread-safe. Every operation may be repeated: making what is there and removing what is not succeed.
class Bridges {
 public:
  virtual ~Bridges() = default;
  virtual flyball::Status Ensure(const std::string& name, const std::string& cidr,
                                 const std::string& gateway) = 0;
  virtual flyball::Status Remove(const std::string& name) = 0;
};

// One file a network in a directory.
class FileBridges final : public Bridges {
 public:
  explicit FileBridges(std::filesystem::path directory) : directory_(std::move(directory)) {
    std::filesystem::create_directories(directory_);
  }
  flyball::Status Ensure(const std::string& name, const std::string& cidr,
                         const std::string& gateway) override {
    std::ofstream out(directory_ / name);
    out << "cidr=" << cidr << "\ngateway=" << gateway << "\n";
    if (out.good()) return {};
    return flyball::Unexpected(flyball::InternalError("cannot write " + (directory_ / name).string()));
  }
  flyball::Status Remove(const std::string& name) override {
    std::error_code ignored;
    std::filesystem::remove(directory_ / name, ignored);
    return {};
  }

 private:
  const std::filesystem::path directory_;
};

// Runs `ip` with these arguments, not through a shell: they come from whoever may create a Network.
inline bool Ip(std::vector<std::string> args) {
  args.insert(args.begin(), "ip");
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, "ip", &quiet, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  int status = 1;
  return failed == 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

// Real bridges, in a network namespace of their own so that the machine's are left alone.
class LinuxBridges final : public Bridges {
 public:
  explicit LinuxBridges(std::string netns) : netns_(std::move(netns)) { Ip({"netns", "add", netns_}); }

  flyball::Status Ensure(const std::string& name, const std::string& cidr,
                         const std::string& gateway) override {
    const bool there =
        Ip({"-n", netns_, "link", "show", name}) || Ip({"-n", netns_, "link", "add", name, "type", "bridge"});
    if (!there || !Ip({"-n", netns_, "link", "set", name, "up"}))
      return flyball::Unexpected(flyball::InternalError("cannot make bridge " + name));
    const std::string length = cidr.substr(std::min(cidr.size(), cidr.find('/')));
    return SetAddress(name, gateway.empty() ? "" : gateway + length);
  }
  flyball::Status Remove(const std::string& name) override {
    Ip({"-n", netns_, "link", "delete", name});
    const std::lock_guard lock(mu_);
    addresses_.erase(name);
    return {};
  }

 private:
  // A bridge of an earlier life, or one whose gateway was another, loses the addresses it has.
  flyball::Status SetAddress(const std::string& name, const std::string& address) {
    const std::lock_guard lock(mu_);
    const auto known = addresses_.find(name);
    if (known == addresses_.end() || known->second != address)
      Ip({"-n", netns_, "address", "flush", "dev", name});
    if (!address.empty() && !Ip({"-n", netns_, "address", "replace", address, "dev", name}))
      return flyball::Unexpected(flyball::InternalError("cannot give " + address + " to " + name));
    addresses_[name] = address;
    return {};
  }

  const std::string netns_;
  std::mutex mu_;
  std::map<std::string, std::string> addresses_;  // of the bridges we made; guarded by mu_
};

// At most 15 bytes, as Linux wants; different networks get different names.
inline std::string BridgeName(const std::string& ns, const std::string& name) {
  const std::size_t hash = std::hash<std::string>()(ns + "/" + name);
  char text[16];
  std::snprintf(text, sizeof text, "br-%08zx", hash & 0xffffffffu);
  return text;
}

inline std::unique_ptr<Bridges> MakeBridges() {
  const char* directory = std::getenv("NETWORK_DIR");
  const bool can_make_bridges = geteuid() == 0 && Ip({"netns", "list"});
  if (can_make_bridges && !directory) return std::make_unique<LinuxBridges>("flyball-example");
  return std::make_unique<FileBridges>(directory ? directory : "/tmp/flyball-networks");
}
