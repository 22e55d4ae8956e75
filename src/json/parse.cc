#include <simdjson.h>

#include <algorithm>
#include <memory>

#include "json/json.h"
#include "json/parse_repeated.h"
#include "json/parse_without.h"
#include "json/syntax.h"

namespace flyball::json {
namespace {

namespace dom = simdjson::dom;

// A parser keeps about 14 bytes per byte of the largest text it has parsed, so only small parsers are kept.
constexpr std::size_t kKeptParserBytes = 64 << 10;
// Nesting depth of the kept parser; deeper texts get their own parser.
constexpr std::size_t kUsualDepth = 1024;
// As many as Kubernetes reports per object.
constexpr std::size_t kMaxDuplicates = 100;

// Begins the mark of a repeated key. A number follows that no other member of the object has.
constexpr char kRepeatMark = '\xff';

using Paths = std::span<const std::string_view>;

// What the callers of this file ask for besides the options.
struct Special {
  Paths unwanted = {};
  bool keep_repeated = false;
};

// Converts simdjson's tape to a tree, without recursion.
class Builder {
 public:
  Builder(const ParseOptions& options, const Special& special) : options_(options), special_(special) {
    open_.reserve(16);
  }

  // Returns false if nested deeper than allowed.
  bool Build(dom::element root, Value& out) {
    if (!Begin(root, out)) return false;
    while (!open_.empty()) {
      Open& top = open_.back();
      if (top.object ? top.member == top.member_end : top.element == top.element_end) {
        open_.pop_back();
      } else if (!(top.object ? BeginMember(top) : BeginElement(top))) {
        return false;
      }
    }
    return true;
  }

 private:
  struct Open {
    Array* array = nullptr;
    Object* object = nullptr;
    dom::array::iterator element, element_end;
    dom::object::iterator member, member_end;
    std::uint64_t seen = 0;  // a Bloom filter of the object's keys
    std::string_view key;    // of the member being read
  };

  bool BeginElement(Open& top) {
    const dom::element element = *top.element;
    ++top.element;
    return Begin(element, top.array->emplace_back());
  }

  bool BeginMember(Open& top) {
    const auto [key, element] = *top.member;
    ++top.member;
    top.key = key;
    if (!special_.unwanted.empty() && IsUnwanted(key)) return true;
    return Begin(element, Slot(top, key));
  }

  bool IsUnwanted(std::string_view key) const {
    return std::any_of(special_.unwanted.begin(), special_.unwanted.end(), [&](std::string_view path) {
      return path.ends_with(key) && CurrentPath(true) == path;
    });
  }

  // Where the value of `key` goes: a new member, or the one it replaces.
  Value& Slot(Open& top, std::string_view key) {
    const std::uint64_t bit = FilterBit(key);
    if (top.seen & bit) {
      if (Value* earlier = top.object->Find(key)) {
        NoteDuplicate();
        if (special_.keep_repeated) return top.object->AppendNull(Marked(key, top.object->size()));
        return *earlier = Value();
      }
    }
    top.seen |= bit;
    return top.object->AppendNull(key);
  }

  static std::string Marked(std::string_view key, std::size_t number) {
    return std::string(key) + kRepeatMark + std::to_string(number);
  }

  static std::uint64_t FilterBit(std::string_view key) {
    if (key.empty()) return 1;
    const auto first = static_cast<unsigned char>(key.front()), last = static_cast<unsigned char>(key.back());
    return std::uint64_t{1} << ((key.size() * 7 + first * 5u + last * 3u) % 64);
  }

  // Writes a scalar to `out`, or opens a container there. Requires null. Constructs the new value in place,
  // because constructing it elsewhere and moving it at once causes a failed store-to-load forwarding.
  bool Begin(dom::element element, Value& out) {
    switch (element.type()) {
      case dom::element_type::NULL_VALUE:
        break;
      case dom::element_type::BOOL:
        std::construct_at(&out, element.get_bool().value_unsafe());
        break;
      case dom::element_type::INT64:
        std::construct_at(&out, element.get_int64().value_unsafe());
        break;
      case dom::element_type::UINT64:
        std::construct_at(&out, static_cast<double>(element.get_uint64().value_unsafe()));
        break;
      case dom::element_type::DOUBLE:
        std::construct_at(&out, element.get_double().value_unsafe());
        break;
      case dom::element_type::STRING:
        std::construct_at(&out, element.get_string().value_unsafe());
        break;
      case dom::element_type::ARRAY:
        return OpenArray(element.get_array().value_unsafe(), out);
      case dom::element_type::OBJECT:
        return OpenObject(element.get_object().value_unsafe(), out);
    }
    return true;
  }

  bool OpenArray(dom::array array, Value& out) {
    std::construct_at(&out, Array());
    out.as_array().reserve(array.size());
    Open& top = open_.emplace_back();
    top.array = &out.as_array();
    top.element = array.begin();
    top.element_end = array.end();
    return open_.size() <= options_.max_depth;
  }

  bool OpenObject(dom::object object, Value& out) {
    std::construct_at(&out, Object());
    out.as_object().Reserve(object.size());
    Open& top = open_.emplace_back();
    top.object = &out.as_object();
    top.member = object.begin();
    top.member_end = object.end();
    return open_.size() <= options_.max_depth;
  }

  void NoteDuplicate() {
    auto* duplicates = options_.duplicates;
    if (!duplicates || duplicates->size() >= kMaxDuplicates) return;
    std::string path = CurrentPath();
    if (std::find(duplicates->begin(), duplicates->end(), path) == duplicates->end())
      duplicates->push_back(std::move(path));
  }

  // With `any_index` elements of lists are "[*]".
  std::string CurrentPath(bool any_index = false) const {
    std::string path;
    for (const Open& open : open_) {
      if (open.array) {
        path += any_index ? "[*]" : '[' + std::to_string(open.array->size() - 1) + ']';
      } else {
        if (!path.empty()) path += '.';
        path += open.key;
      }
    }
    return path;
  }

  const ParseOptions& options_;
  const Special special_;
  std::vector<Open> open_;
};

enum class Outcome { kOk, kTooDeep, kRefused, kNoMemory };

Outcome ParseWith(dom::parser& parser, std::string_view text, const ParseOptions& options,
                  const Special& special, Value& out) {
  dom::element root;
  const auto error = parser.parse(text.data(), text.size()).get(root);
  if (error == simdjson::DEPTH_ERROR) return Outcome::kTooDeep;
  if (error == simdjson::MEMALLOC) return Outcome::kNoMemory;
  if (error) return Outcome::kRefused;
  return Builder(options, special).Build(root, out) ? Outcome::kOk : Outcome::kRefused;
}

Outcome ParseSmall(std::string_view text, const ParseOptions& options, const Special& special, Value& out) {
  thread_local dom::parser parser;
  return ParseWith(parser, text, options, special, out);
}

// Uses a separate parser that supports `depth` levels.
Outcome ParseOnce(std::string_view text, std::size_t depth, const ParseOptions& options,
                  const Special& special, Value& out) {
  dom::parser parser;
  if (const auto error = parser.allocate(text.size(), depth))
    return error == simdjson::MEMALLOC ? Outcome::kNoMemory : Outcome::kRefused;
  return ParseWith(parser, text, options, special, out);
}

}  // namespace

namespace {

Result<Value> ParseText(std::string_view text, const ParseOptions& options, const Special& special) {
  if (text.size() > options.max_bytes) {
    return Unexpected(Error(Reason::kRequestEntityTooLarge,
                            "JSON text is larger than " + std::to_string(options.max_bytes) + " bytes"));
  }
  Value value;
  const bool small = text.size() <= kKeptParserBytes;
  Outcome outcome = small ? ParseSmall(text, options, special, value)
                          : ParseOnce(text, kUsualDepth, options, special, value);
  if (outcome == Outcome::kOk) return value;
  if (outcome == Outcome::kNoMemory) return Unexpected(OutOfMemory());

  if (options.duplicates) options.duplicates->clear();
  FLYBALL_ASSIGN(const std::string plain, CheckSyntax(text, options.max_depth));
  value = Value();
  outcome = ParseOnce(plain, options.max_depth + 1, options, special, value);
  if (outcome == Outcome::kOk) return value;
  return Unexpected(outcome == Outcome::kNoMemory ? OutOfMemory() : BadRequest("JSON text cannot be read"));
}

}  // namespace

Result<Value> Parse(std::string_view text, const ParseOptions& options) {
  return ParseText(text, options, {});
}

Result<Value> ParseWithout(std::span<const std::string_view> paths, std::string_view text) {
  return ParseText(text, {}, {.unwanted = paths});
}

Result<Value> ParseRepeated(std::string_view text) {
  return ParseText(text, {}, {.keep_repeated = true});
}

bool IsRepeated(std::string_view key) {
  return key.find(kRepeatMark) != std::string_view::npos;
}

std::string_view UnmarkedKey(std::string_view key) {
  return key.substr(0, key.find(kRepeatMark));
}

}  // namespace flyball::json
