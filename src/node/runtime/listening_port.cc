#include "node/runtime/listening_port.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace flyball::node {
namespace {

// Lines of /proc/net/tcp: "sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout
// inode".
void AddListeners(const char* table, int port, std::set<std::string>& sockets) {
  constexpr std::string_view kListening = "0A";
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // the heads of the columns
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    const auto colon = local.rfind(':');
    if (state != kListening || colon == std::string::npos) continue;
    if (std::strtol(local.c_str() + colon + 1, nullptr, 16) == port) sockets.insert("socket:[" + inode + "]");
  }
}

bool Holds(const std::filesystem::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (const auto& descriptor : std::filesystem::directory_iterator(process / "fd", error))
    if (sockets.contains(std::filesystem::read_symlink(descriptor.path(), error).string())) return true;
  return false;
}

}  // namespace

bool ListensAt(int port, const std::function<bool(pid_t pid)>& belongs) {
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) AddListeners(table, port, sockets);
  if (sockets.empty()) return true;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(process.path().filename().c_str());
    if (pid > 0 && belongs(pid) && Holds(process.path(), sockets)) return true;
  }
  return false;
}

}  // namespace flyball::node
