// Log: writes one line per event to standard error: time, level, message, key=value pairs. Callers log names,
// never secrets.
//
//   log::Info("listening", {{"address", address}});
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace flyball::log {

enum class Level { kDebug, kInfo, kWarning, kError, kNone };

struct Pair {
  std::string_view key;
  std::string value;
};

// Messages below the level are dropped. Thread-safe. The default is kInfo.
void SetLevel(Level level);
bool Enabled(Level level);

void Write(Level level, std::string_view message, std::initializer_list<Pair> pairs = {});
inline void Debug(std::string_view m, std::initializer_list<Pair> p = {}) {
  Write(Level::kDebug, m, p);
}
inline void Info(std::string_view m, std::initializer_list<Pair> p = {}) {
  Write(Level::kInfo, m, p);
}
inline void Warning(std::string_view m, std::initializer_list<Pair> p = {}) {
  Write(Level::kWarning, m, p);
}
inline void Error(std::string_view m, std::initializer_list<Pair> p = {}) {
  Write(Level::kError, m, p);
}

}  // namespace flyball::log
