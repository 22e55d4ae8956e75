#include "api/apply/element_text.h"

#include <cstddef>
#include <cstring>
#include <vector>

#include "api/schema/schema.h"

namespace flyball::api {
namespace {

// Every field name of the built-in types, by hash: open addressing, at most half full.
class KnownNames {
 public:
  KnownNames() {
    std::size_t names = 0;
    for (const TypeInfo* type : BuiltinTypes()) names += type->fields.size();
    std::size_t size = 64;
    while (size < 2 * names) size *= 2;
    slots_.resize(size);
    for (const TypeInfo* type : BuiltinTypes()) {
      for (const FieldInfo& field : type->fields) slots_[Position(field.name)] = field.name;
    }
  }

  // Null data if it is not known.
  std::string_view Find(std::string_view name) const { return slots_[Position(name)]; }

 private:
  static std::size_t Hash(std::string_view name) {
    std::size_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash ^ hash >> 32;
  }

  std::size_t Position(std::string_view name) const {
    std::size_t at = Hash(name) & (slots_.size() - 1);
    while (slots_[at].data() != nullptr && slots_[at] != name) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<std::string_view> slots_;
};

constexpr std::size_t kLongestName = 40;  // longer texts are not looked up: no field is called so

}  // namespace

ElementText::ElementText(std::string_view text) {
  static const KnownNames known;
  if (text.empty()) return;
  if (text.size() <= kLongestName && text.front() != '{') {
    if (const std::string_view name = known.Find(text); name.data() != nullptr) {
      *this = Static(name);
      return;
    }
  }
  char* copy = new char[text.size()];
  std::memcpy(copy, text.data(), text.size());
  data_ = copy;
  size_ = static_cast<std::uint32_t>(text.size());
  owned_ = true;
}

}  // namespace flyball::api
