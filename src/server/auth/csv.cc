#include "server/auth/csv.h"

namespace flyball::server {
namespace {

// Confined to one call of ParseCsv.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : rest_(text) {}

  Result<std::vector<CsvRecord>> Read() {
    std::vector<CsvRecord> records;
    while (!rest_.empty()) {
      if (TakeLineEnd()) continue;
      FLYBALL_ASSIGN(CsvRecord record, ReadRecord());
      records.push_back(std::move(record));
    }
    return records;
  }

 private:
  Result<CsvRecord> ReadRecord() {
    CsvRecord record;
    do {
      FLYBALL_ASSIGN(std::string field, rest_.starts_with('"') ? ReadQuoted() : ReadPlain());
      record.push_back(std::move(field));
    } while (Take(","));
    TakeLineEnd();
    return record;
  }

  // Each reads up to the comma or the line end.
  Result<std::string> ReadPlain() {
    std::string field;
    for (; !rest_.empty() && !rest_.starts_with(',') && LineEndSize() == 0; rest_.remove_prefix(1)) {
      if (rest_.starts_with('"')) return Wrong("bare \" in non-quoted-field");
      field += rest_[0];
    }
    return field;
  }

  Result<std::string> ReadQuoted() {
    std::string field;
    rest_.remove_prefix(1);
    for (bool closed = false; !closed;) {
      const auto quote = rest_.find('"');
      if (quote == std::string_view::npos) return Wrong("extraneous or missing \" in quoted-field");
      AppendQuoted(rest_.substr(0, quote), field);
      rest_.remove_prefix(quote + 1);
      closed = !Take("\"");
      if (!closed) field += '"';
    }
    if (!rest_.empty() && !rest_.starts_with(',') && LineEndSize() == 0)
      return Wrong("extraneous or missing \" in quoted-field");
    return field;
  }

  // A line end inside quotes is LF, however it was written.
  void AppendQuoted(std::string_view text, std::string& field) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') ++line_;
      if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') field += text[i];
    }
  }

  bool Take(std::string_view prefix) {
    if (!rest_.starts_with(prefix)) return false;
    rest_.remove_prefix(prefix.size());
    return true;
  }
  // 0 if the line goes on. Of the last line a CR alone is enough.
  std::size_t LineEndSize() const {
    if (rest_.starts_with('\n') || rest_ == "\r") return 1;
    return rest_.starts_with("\r\n") ? 2 : 0;
  }
  bool TakeLineEnd() {
    const std::size_t size = LineEndSize();
    rest_.remove_prefix(size);
    if (size > 0) ++line_;
    return size > 0;
  }
  Unexpected Wrong(std::string_view what) const {
    return Unexpected(BadRequest("parse error on line " + std::to_string(line_) + ": " + std::string(what)));
  }

  std::string_view rest_;
  int line_ = 1;
};

}  // namespace

Result<std::vector<CsvRecord>> ParseCsv(std::string_view text) {
  return CsvReader(text).Read();
}

}  // namespace flyball::server
