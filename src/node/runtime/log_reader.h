// Reading a container's log by a query's rules, across rotation, and passing it on at the reader's pace.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "node/runtime/container_log.h"
#include "node/runtime/log_files.h"
#include "node/runtime/runtime.h"

namespace flyball::node {

// Confined to one reader at a time.
class LogReader {
 public:
  LogReader(std::string path, const LogQuery& query) : path_(std::move(path)), query_(query) {}

  struct Part {
    std::string text;        // may be empty though more is there: lines that were not asked for
    bool at_end = false;     // nothing more is there now
    bool exhausted = false;  // limit_bytes has been reached
  };
  // The next part, from where the last call ended. Begins with the oldest file there is, or as many lines
  // before the end as the query says. NotFound if there is no log.
  Result<Part> Read();

 private:
  Status Begin();
  // The file after the open one; "" if that is the newest.
  std::string Newer() const;
  void OpenNext();
  void Emit(std::string_view line, std::string& out) const;

  const std::string path_;
  const LogQuery query_;
  LogFd file_;
  bool complete_ = false;  // the open file has been rotated: it does not grow any more
  std::string rest_;       // of a line whose end was not read yet
  std::int64_t given_ = 0;
};

// Gives a log to a sink until its end, or until the sink has enough. Runs on the executor, a part at a time,
// and waits while the sink is behind. Thread-safe; kept alive by the work it has under way.
class LogPump : public std::enable_shared_from_this<LogPump> {
 public:
  LogPump(std::string path, const LogQuery& query, LogSink sink, Executor& executor)
      : reader_(std::move(path), query), sink_(std::move(sink)), executor_(executor) {}

  // Reads what is there. `ends`: there will be no more.
  // False: it is over.
  bool Wake(bool ends);

 private:
  void Step();
  void Post();
  void Finish(const Status& status);

  LogReader reader_;  // of the one step under way
  const LogSink sink_;
  Executor& executor_;
  Mutex mu_;
  bool running_ FLYBALL_GUARDED_BY(mu_) = false;
  bool again_ FLYBALL_GUARDED_BY(mu_) = false;
  bool ends_ FLYBALL_GUARDED_BY(mu_) = false;
  bool over_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace flyball::node
