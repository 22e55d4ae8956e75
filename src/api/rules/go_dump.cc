#include "api/rules/go_dump.h"

#include <algorithm>
#include <array>

#include "api/rules/go_internal_types.h"
#include "api/schema/zero_value.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

struct Initialism {
  std::string_view json, go;
};
// Beginnings of JSON names whose Go names are not just capitalised.
constexpr std::array kInitialisms = {
    Initialism{"api", "API"},
    Initialism{"aws", "AWS"},
    Initialism{"cephfs", "CephFS"},
    Initialism{"csi", "CSI"},
    Initialism{"dns", "DNS"},
    Initialism{"fc", "FC"},
    Initialism{"fs", "FS"},
    Initialism{"gce", "GCE"},
    Initialism{"gmsa", "GMSA"},
    Initialism{"grpc", "GRPC"},
    Initialism{"http", "HTTP"},
    Initialism{"iqn", "IQN"},
    Initialism{"iscsi", "ISCSI"},
    Initialism{"nfs", "NFS"},
    Initialism{"os", "OS"},
    Initialism{"pd", "PD"},
    Initialism{"rbd", "RBD"},
    Initialism{"se", "SE"},
    Initialism{"storageos", "StorageOS"},
    Initialism{"tcp", "TCP"},
    Initialism{"tty", "TTY"},
    Initialism{"uid", "UID"},
    Initialism{"uri", "URI"},
    Initialism{"wwids", "WWIDs"},
};

bool StartsWord(std::string_view rest) {
  return rest.empty() || (rest[0] >= 'A' && rest[0] <= 'Z');
}

std::string GoName(std::string_view json) {
  if (json == "serviceAccount") return "DeprecatedServiceAccount";
  for (const Initialism& initialism : kInitialisms) {
    if (!json.starts_with(initialism.json) || !StartsWord(json.substr(initialism.json.size()))) continue;
    return std::string(initialism.go).append(json.substr(initialism.json.size()));
  }
  std::string name(json);
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 32);
  return name;
}

// Null: the order and the names follow from the API's.
const GoInternalType* FindInternal(const TypeInfo& type) {
  constexpr std::string_view kPackage = "io.k8s.api.";
  if (!type.name.starts_with(kPackage)) return nullptr;
  const std::string_view name = type.name.substr(kPackage.size());
  const auto* found = std::ranges::lower_bound(kGoInternalTypes, name, {}, &GoInternalType::type);
  return found == std::end(kGoInternalTypes) || found->type != name ? nullptr : found;
}

class Dumper {
 public:
  std::string Run(const TypeInfo& type, const Value& value) {
    Write(type, value, false);
    return std::move(out_);
  }

 private:
  void Write(const TypeInfo& type, const Value& value, bool pointer) {
    if (value.is_null() && (pointer || type.kind == TypeKind::kList || type.kind == TypeKind::kMap)) {
      out_ += "null";
    } else if (type.kind == TypeKind::kObject) {
      WriteObject(type, value);
    } else if (type.kind == TypeKind::kList && value.is_array()) {
      WriteList(*type.element, value);
    } else if (type.kind == TypeKind::kMap && value.is_object()) {
      WriteMap(*type.element, value);
    } else {
      json::WriteTo(value.is_null() ? ZeroValue(type) : value, out_);
    }
  }

  void WriteObject(const TypeInfo& type, const Value& value) {
    Open('{');
    if (const GoInternalType* internal = FindInternal(type)) {
      WriteInternal(type, internal->fields, value);
    } else {
      for (const FieldInfo& field : type.fields) WriteField(field, GoName(field.name), value);
    }
    Close('}');
  }

  void WriteInternal(const TypeInfo& type, std::string_view fields, const Value& value) {
    while (!fields.empty()) {
      const std::string_view word = fields.substr(0, fields.find(' '));
      fields.remove_prefix(std::min(fields.size(), word.size() + 1));
      const std::size_t equals = word.find('=');
      const FieldInfo* field = type.FindField(word.substr(0, equals));
      if (field == nullptr) continue;
      WriteField(*field,
                 equals == std::string_view::npos ? GoName(word) : std::string(word.substr(equals + 1)),
                 value);
    }
  }

  void WriteField(const FieldInfo& field, const std::string& name, const Value& value) {
    // Upstream embeds what the API calls metadata, apiVersion and kind: Go writes what is set under the API's
    // names.
    if (field.name == "metadata") return WriteSet(value["metadata"]);
    if (field.name == "apiVersion" || field.name == "kind") {
      if (const Value* own = value.Find("metadata"); own != nullptr) return;
    }
    WriteName(name);
    Write(*field.type, value[field.name], field.pointer);
  }

  void WriteSet(const Value& members) {
    if (!members.is_object()) return;
    for (const auto& [name, member] : members.as_object()) {
      if (member.is_null()) continue;
      WriteName(name);
      WritePlain(member);
    }
  }

  void WritePlain(const Value& value) {
    if (value.is_object()) {
      Open('{');
      WriteSet(value);
      Close('}');
    } else if (value.is_array()) {
      Open('[');
      for (const Value& item : value.as_array()) {
        NextLine();
        WritePlain(item);
      }
      Close(']');
    } else {
      json::WriteTo(value, out_);
    }
  }

  void WriteList(const TypeInfo& element, const Value& list) {
    Open('[');
    for (const Value& item : list.as_array()) {
      NextLine();
      Write(element, item, false);
    }
    Close(']');
  }

  void WriteMap(const TypeInfo& element, const Value& map) {
    Open('{');
    for (const auto& [key, item] : map.as_object()) {
      WriteName(key);
      Write(element, item, false);
    }
    Close('}');
  }

  void WriteName(std::string_view name) {
    NextLine();
    json::AppendQuoted(name, out_);
    out_ += ": ";
  }

  void Open(char bracket) {
    out_ += bracket;
    ++depth_;
    first_ = true;
  }
  void Close(char bracket) {
    --depth_;
    if (!first_) out_.append("\n").append(depth_, ' ');
    out_ += bracket;
    first_ = false;
  }
  void NextLine() {
    out_.append(first_ ? "\n" : ",\n").append(depth_, ' ');
    first_ = false;
  }

  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;
};

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// A run of lines that are the same, or that were replaced (either side may be empty).
struct Change {
  bool same;
  std::size_t a, a_end, b, b_end;
};

using Lines = std::vector<std::string_view>;
constexpr std::size_t kMaxCells = 4'000'000;  // beyond, a difference is one block

// Longest common subsequence of a[from..a_end) and b[from..b_end), as changes.
void CompareMiddle(const Lines& a, const Lines& b, std::size_t from, std::size_t a_end, std::size_t b_end,
                   std::vector<Change>& changes) {
  const std::size_t n = a_end - from, m = b_end - from;
  if (n == 0 || m == 0 || n * m > kMaxCells) {
    if (n + m > 0) changes.push_back({false, from, a_end, from, b_end});
    return;
  }
  std::vector<std::uint32_t> table((n + 1) * (m + 1), 0);
  const auto cell = [&](std::size_t i, std::size_t j) -> std::uint32_t& { return table[i * (m + 1) + j]; };
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      cell(i, j) =
          a[from + i] == b[from + j] ? cell(i + 1, j + 1) + 1 : std::max(cell(i + 1, j), cell(i, j + 1));
    }
  }
  std::size_t i = 0, j = 0;
  while (i < n || j < m) {
    const std::size_t i0 = i, j0 = j;
    while (i < n && j < m && a[from + i] == b[from + j]) ++i, ++j;
    if (i > i0) {
      changes.push_back({true, from + i0, from + i, from + j0, from + j});
      continue;
    }
    while ((i < n || j < m) && !(i < n && j < m && a[from + i] == b[from + j])) {
      if (j == m || (i < n && cell(i + 1, j) >= cell(i, j + 1))) {
        ++i;
      } else {
        ++j;
      }
    }
    changes.push_back({false, from + i0, from + i, from + j0, from + j});
  }
}

std::vector<Change> Compare(const Lines& a, const Lines& b) {
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  std::vector<Change> changes;
  if (head > 0) changes.push_back({true, 0, head, 0, head});
  CompareMiddle(a, b, head, a.size() - tail, b.size() - tail, changes);
  if (tail > 0) changes.push_back({true, a.size() - tail, a.size(), b.size() - tail, b.size()});
  return changes;
}

constexpr std::size_t kContext = 3;

void AppendRange(std::size_t begin, std::size_t end, std::string& out) {
  const std::size_t length = end - begin;
  out += std::to_string(length == 0 ? begin : begin + 1);
  if (length != 1) out += "," + std::to_string(length);
}

void AppendHunk(const Lines& a, const Lines& b, const std::vector<Change>& hunk, std::string& out) {
  out += "@@ -";
  AppendRange(hunk.front().a, hunk.back().a_end, out);
  out += " +";
  AppendRange(hunk.front().b, hunk.back().b_end, out);
  out += " @@\n";
  const auto append = [&](char mark, const Lines& lines, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) (out += mark).append(lines[i]).append("\n");
  };
  for (const Change& change : hunk) {
    if (change.same) {
      append(' ', a, change.a, change.a_end);
    } else {
      append('-', a, change.a, change.a_end);
      append('+', b, change.b, change.b_end);
    }
  }
}

}  // namespace

std::string GoDump(const TypeInfo& type, const Value& value) {
  return Dumper().Run(type, value);
}

std::string UnifiedDiff(const std::string& before, const std::string& after) {
  const Lines a = LinesOf(before), b = LinesOf(after);
  std::string out;
  std::vector<Change> hunk;
  const std::vector<Change> changes = Compare(a, b);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Change change = changes[i];
    if (!change.same) {
      hunk.push_back(change);
      continue;
    }
    const bool last = i + 1 == changes.size();
    const std::size_t length = change.a_end - change.a;
    if (!hunk.empty() && (last || length > 2 * kContext)) {
      const std::size_t keep = std::min(length, kContext);
      hunk.push_back({true, change.a, change.a + keep, change.b, change.b + keep});
      AppendHunk(a, b, hunk, out);
      hunk.clear();
    } else if (!hunk.empty()) {
      hunk.push_back(change);
      continue;
    }
    if (last) continue;
    const std::size_t keep = std::min(length, kContext);
    hunk.push_back({true, change.a_end - keep, change.a_end, change.b_end - keep, change.b_end});
  }
  const bool something = std::any_of(hunk.begin(), hunk.end(), [](const Change& c) { return !c.same; });
  if (something) AppendHunk(a, b, hunk, out);
  return out;
}

json::Value GoInternal(std::string_view type_name, const json::Value& value) {
  const TypeInfo* type = FindType(type_name);
  if (type == nullptr || value.is_null()) return value;
  auto parsed = json::Parse(GoDump(*type, value));
  return parsed ? std::move(*parsed) : value;
}

std::string GoDifference(std::string_view type_name, const Value& before, const Value& after) {
  const TypeInfo* type = FindType(type_name);
  if (type == nullptr) return UnifiedDiff(json::WritePretty(before, 1), json::WritePretty(after, 1));
  return UnifiedDiff(GoDump(*type, before), GoDump(*type, after));
}

}  // namespace flyball::api
