#include "base/run/file_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

namespace flyball {
namespace {

constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                  IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
// As many links as the kernel follows.
constexpr int kMaxLinks = 40;
// How long a directory that is not there may go unnoticed once it is.
constexpr int kRetryMilliseconds = 60'000;

}  // namespace

FileWatcher::FileWatcher()
    : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

FileWatcher::~FileWatcher() {
  Stop();
  if (inotify_ >= 0) ::close(inotify_);
  if (wake_ >= 0) ::close(wake_);
}

Status FileWatcher::Watch(std::vector<std::string> paths, std::function<void()> changed) {
  if (inotify_ < 0 || wake_ < 0)
    return Unexpected(InternalError(std::string("cannot watch files: ") + std::strerror(errno)));
  auto subscription = std::make_shared<Subscription>();
  for (const auto& path : paths) subscription->paths.push_back(std::filesystem::absolute(path).string());
  subscription->changed = std::move(changed);
  MutexLock lock(mu_);
  if (stopping_) return {};
  subscriptions_.push_back(std::move(subscription));
  Follow();
  if (subscriptions_.size() == 1) thread_ = Thread("file-watch", [this] { Run(); });
  return {};
}

void FileWatcher::Stop() {
  Thread thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    thread = std::move(thread_);
  }
  const std::uint64_t one = 1;
  if (wake_ >= 0 && ::write(wake_, &one, sizeof one) < 0) return;  // never full: nobody else writes to it
  thread.Join();
}

void FileWatcher::Run() {
  for (;;) {
    bool retry = false;
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      retry = incomplete_;
    }
    pollfd waits[] = {{inotify_, POLLIN, 0}, {wake_, POLLIN, 0}};
    ::poll(waits, 2, retry ? kRetryMilliseconds : -1);
    Dispatch();
  }
}

void FileWatcher::Dispatch() {
  alignas(inotify_event) char buffer[16 << 10];
  std::set<Entry> touched;
  std::set<std::string> touched_directories;
  std::vector<std::shared_ptr<Subscription>> due;
  {
    MutexLock lock(mu_);
    for (ssize_t size = 0; (size = ::read(inotify_, buffer, sizeof buffer)) > 0;) {
      for (const char* at = buffer; at < buffer + size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        at += sizeof(inotify_event) + event->len;
        const auto directory = directories_.find(event->wd);
        if (directory == directories_.end()) continue;
        if (event->len > 0) touched.emplace(directory->second, event->name);
        if (event->len == 0) touched_directories.insert(directory->second);
        if (event->mask & IN_IGNORED) directories_.erase(directory);
      }
    }
    const auto matters = [&](const Entry& entry) {
      if (touched_directories.contains(entry.first)) return true;
      if (!entry.second.empty()) return touched.contains(entry);
      const auto any = touched.lower_bound(entry);  // no name: whatever is in it
      return any != touched.end() && any->first == entry.first;
    };
    for (const auto& subscription : subscriptions_) {
      const auto before = subscription->entries;
      if (std::any_of(before.begin(), before.end(), matters)) due.push_back(subscription);
    }
    const bool was_incomplete = incomplete_;
    Follow();
    // What appeared while nobody could watch.
    if (was_incomplete) due = subscriptions_;
    if (stopping_) return;
  }
  for (const auto& subscription : due) subscription->changed();
}

void FileWatcher::Follow() {
  std::set<std::string> wanted;
  for (const auto& subscription : subscriptions_) {
    subscription->entries.clear();
    for (const auto& path : subscription->paths) {
      AddEntries(path, subscription->entries);
      std::error_code error;
      if (path.ends_with('/') && std::filesystem::is_directory(path, error))
        subscription->entries.emplace(path.substr(0, path.size() - 1), "");
    }
    for (const auto& entry : subscription->entries) wanted.insert(entry.first);
  }
  for (auto it = directories_.begin(); it != directories_.end();) {
    if (wanted.erase(it->second) > 0) {
      ++it;
    } else {
      ::inotify_rm_watch(inotify_, it->first);
      it = directories_.erase(it);
    }
  }
  incomplete_ = false;
  for (const auto& directory : wanted) {
    const int number = ::inotify_add_watch(inotify_, directory.c_str(), kEvents | IN_ONLYDIR);
    if (number >= 0)
      directories_[number] = directory;
    else
      incomplete_ = true;
  }
}

// Walks the path from the root; each symbolic link on the way, and the file itself, is an entry.
void FileWatcher::AddEntries(const std::string& path, std::set<Entry>& entries) {
  std::filesystem::path rest = path, done;
  for (int links = 0; links <= kMaxLinks;) {
    const auto first = rest.begin();
    if (first == rest.end()) return;
    const std::filesystem::path name = *first;
    std::filesystem::path after;
    for (auto it = std::next(first); it != rest.end(); ++it) after /= *it;
    const auto here = done / name;
    std::error_code error;
    const bool link = std::filesystem::is_symlink(std::filesystem::symlink_status(here, error));
    if (link || after.empty()) entries.emplace(done.string(), name.string());
    if (!link) {
      done = here;
      rest = after;
      continue;
    }
    ++links;
    const auto target = std::filesystem::read_symlink(here, error);
    if (error) return;
    rest = after.empty() ? target : target / after;
    if (target.is_absolute()) {
      done = target.root_path();
      rest = rest.relative_path();
    }
  }
}

}  // namespace flyball
