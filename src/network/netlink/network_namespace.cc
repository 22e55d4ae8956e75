#include "network/netlink/network_namespace.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/run/thread.h"

namespace flyball::network {
namespace {

constexpr char kThreadNamespace[] = "/proc/thread-self/ns/net";

Error SystemError(const std::string& what) {
  return InternalError(what + ": " + std::strerror(errno));
}

bool IsNamespace(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 && info.f_type == NSFS_MAGIC;
}

Status RaiseLoopback() {
  const OwnedFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (!socket || ::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0)
    return Unexpected(SystemError("loopback device"));
  return {};
}

Status MakeAt(const std::string& path) {
  if (::unshare(CLONE_NEWNET) != 0) return Unexpected(SystemError("new network namespace"));
  FLYBALL_TRY(RaiseLoopback());
  if (::mount(kThreadNamespace, path.c_str(), "none", MS_BIND, nullptr) != 0)
    return Unexpected(SystemError("cannot bind a network namespace to " + path));
  return {};
}

}  // namespace

Result<NetworkNamespace::Ptr> NetworkNamespace::Current() {
  OwnedFd fd(::open(kThreadNamespace, O_RDONLY | O_CLOEXEC));
  if (!fd) return Unexpected(SystemError(kThreadNamespace));
  std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd.get());
  return Ptr(new NetworkNamespace(std::move(fd), std::move(path)));
}

Result<NetworkNamespace::Ptr> NetworkNamespace::Create(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  {
    const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0444));
    if (!file) return Unexpected(SystemError(path));
    if (IsNamespace(file.get())) return Unexpected(Error(Reason::kAlreadyExists, path + " is there already"));
  }
  Status made;
  Thread("namespace", [&] { made = MakeAt(path); }).Join();
  if (made) return Open(path);
  ::unlink(path.c_str());
  return Unexpected(made.error());
}

Result<NetworkNamespace::Ptr> NetworkNamespace::Open(const std::string& path) {
  OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // After the machine was started anew, the file may be there and the namespace gone.
  if (!fd || !IsNamespace(fd.get()))
    return Unexpected(Error(Reason::kNotFound, "no network namespace at " + path));
  return Ptr(new NetworkNamespace(std::move(fd), path));
}

Status NetworkNamespace::Remove(const std::string& path) {
  while (::umount2(path.c_str(), MNT_DETACH) == 0) {
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return Unexpected(SystemError(path));
  return {};
}

Status NetworkNamespace::RunOnThread(const std::function<void()>& body) const {
  Status entered;
  Thread("namespace", [&] {
    if (::setns(fd_.get(), CLONE_NEWNET) != 0)
      entered = Unexpected(SystemError("cannot enter the network namespace " + path_));
    else
      body();
  }).Join();
  return entered;
}

}  // namespace flyball::network
