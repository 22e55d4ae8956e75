#include "api/jq/jq_query.h"

#include <algorithm>

#include "api/jq/jq_functions.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using JqValues = std::vector<json::Value>;

Error JqFailure(std::string message) {
  return BadRequest(std::move(message));
}

// One run. Confined to it.
class JqRun {
 public:
  // Adds the results of the node for this input; those before an error stay.
  Status Evaluate(const JqNode& node, const json::Value& input, JqValues& out) {
    if (++depth_ > kMaxDepth) return Unexpected(JqFailure("the query recurses too deeply"));
    const Status done = Dispatch(node, input, out);
    --depth_;
    if (done && out.size() > kMaxResults) return Unexpected(JqFailure("the query has too many results"));
    return done;
  }

 private:
  static constexpr int kMaxDepth = 1000;
  static constexpr std::size_t kMaxResults = 1'000'000;

  Result<JqValues> All(const JqNode& node, const json::Value& input) {
    JqValues out;
    FLYBALL_TRY(Evaluate(node, input, out));
    return out;
  }

  Status Dispatch(const JqNode& node, const json::Value& input, JqValues& out) {
    switch (node.kind) {
      case JqNode::Kind::kIdentity:
        out.push_back(input);
        return {};
      case JqNode::Kind::kDescend:
        Descend(input, out);
        return {};
      case JqNode::Kind::kLiteral:
        out.push_back(node.value);
        return {};
      case JqNode::Kind::kIndex:
        return EachOf(node, input, [&](const json::Value& what) { return IndexAll(node, input, what, out); });
      case JqNode::Kind::kSlice:
        return EachOf(node, input, [&](const json::Value& what) { return Slice(node, input, what, out); });
      case JqNode::Kind::kIterate:
        return EachOf(node, input, [&](const json::Value& what) { return Iterate(what, out); });
      case JqNode::Kind::kTry:
        return Try(node, input, out);
      case JqNode::Kind::kPipe:
        return EachOf(node, input,
                      [&](const json::Value& left) { return Evaluate(*node.children[1], left, out); });
      case JqNode::Kind::kComma:
        FLYBALL_TRY(Evaluate(*node.children[0], input, out));
        return Evaluate(*node.children[1], input, out);
      case JqNode::Kind::kOperator:
        return Operate(node, input, out);
      case JqNode::Kind::kNegate:
        return EachOf(node, input, [&](const json::Value& what) { return Negate(what, out); });
      case JqNode::Kind::kArray:
        return Collect(node, input, out);
      case JqNode::Kind::kObject:
        return MakeObject(node, input, 0, {}, out);
      case JqNode::Kind::kVariable:
        return Variable(node, out);
      case JqNode::Kind::kBind:
        return EachOf(node, input, [&](const json::Value& value) {
          variables_.emplace_back(node.name, value);
          const Status done = Evaluate(*node.children[1], input, out);
          variables_.pop_back();
          return done;
        });
      case JqNode::Kind::kIf:
        return EachOf(node, input, [&](const json::Value& condition) {
          const JqNodePtr& chosen = node.children[JqIsTrue(condition) ? 1 : 2];
          if (chosen) return Evaluate(*chosen, input, out);
          out.push_back(input);
          return Status();
        });
      case JqNode::Kind::kCall:
        return Call(node, input, out);
    }
    return {};
  }
  // Of the results of the first child, those before an error too.
  template <typename Fn>
  Status EachOf(const JqNode& node, const json::Value& input, Fn fn) {
    JqValues values;
    const Status evaluated = Evaluate(*node.children[0], input, values);
    for (const json::Value& value : values) FLYBALL_TRY(fn(value));
    return evaluated;
  }

  static void Descend(const json::Value& value, JqValues& out) {
    out.push_back(value);
    if (value.is_array())
      for (const json::Value& item : value.as_array()) Descend(item, out);
    if (value.is_object())
      for (const auto& [key, member] : value.as_object()) Descend(member, out);
  }
  static Status Iterate(const json::Value& what, JqValues& out) {
    if (what.is_array()) {
      out.insert(out.end(), what.as_array().begin(), what.as_array().end());
    } else if (what.is_object()) {
      json::Object sorted = what.as_object();
      sorted.SortKeys();
      for (const auto& [key, member] : sorted) out.push_back(member);
    } else {
      return Unexpected(JqFailure("cannot iterate over: " + std::string(JqTypeOf(what))));
    }
    return {};
  }
  Status IndexAll(const JqNode& node, const json::Value& input, const json::Value& what, JqValues& out) {
    FLYBALL_ASSIGN(const JqValues keys, All(*node.children[1], input));
    for (const json::Value& key : keys) FLYBALL_TRY(Index(what, key, out));
    return {};
  }
  static Status Index(const json::Value& what, const json::Value& key, JqValues& out) {
    const bool by_name = key.is_string() && (what.is_object() || what.is_null());
    const bool by_place = key.is_number() && (what.is_array() || what.is_null());
    if (!by_name && !by_place)
      return Unexpected(JqFailure("expected an " + std::string(key.is_string() ? "object" : "array") +
                                  " but got: " + std::string(JqTypeOf(what))));
    if (what.is_object()) {
      out.push_back(what[key.as_string()]);
    } else if (what.is_array()) {
      const auto size = static_cast<std::int64_t>(what.size());
      const auto at = static_cast<std::int64_t>(key.as_double());
      const std::int64_t place = at < 0 ? at + size : at;
      out.push_back(place >= 0 && place < size ? what.as_array()[static_cast<std::size_t>(place)]
                                               : json::Value());
    } else {
      out.emplace_back(nullptr);
    }
    return {};
  }
  // One end of a slice, within what is there.
  Result<std::size_t> End(const JqNodePtr& node, const json::Value& input, std::size_t size,
                          std::size_t otherwise) {
    if (!node) return otherwise;
    FLYBALL_ASSIGN(const JqValues ends, All(*node, input));
    if (ends.empty() || ends[0].is_null()) return otherwise;
    if (!ends[0].is_number()) return Unexpected(JqFailure("expected a number as an end of a slice"));
    const auto whole = static_cast<std::int64_t>(size);
    const auto at = static_cast<std::int64_t>(ends[0].as_double());
    return static_cast<std::size_t>(std::clamp<std::int64_t>(at < 0 ? at + whole : at, 0, whole));
  }
  Status Slice(const JqNode& node, const json::Value& input, const json::Value& what, JqValues& out) {
    if (what.is_null()) {
      out.emplace_back(nullptr);
      return {};
    }
    if (!what.is_array() && !what.is_string())
      return Unexpected(JqFailure("expected an array but got: " + std::string(JqTypeOf(what))));
    const std::size_t size = what.is_array() ? what.size() : what.as_string().size();
    FLYBALL_ASSIGN(const std::size_t from, End(node.children[1], input, size, 0));
    FLYBALL_ASSIGN(const std::size_t end, End(node.children[2], input, size, size));
    const std::size_t to = std::max(from, end);
    if (what.is_string())
      out.emplace_back(what.as_string().substr(from, to - from));
    else
      out.emplace_back(json::Array(what.as_array().begin() + static_cast<std::ptrdiff_t>(from),
                                   what.as_array().begin() + static_cast<std::ptrdiff_t>(to)));
    return {};
  }
  Status Try(const JqNode& node, const json::Value& input, JqValues& out) {
    const Status done = Evaluate(*node.children[0], input, out);
    if (done || !node.children[1]) return {};
    return Evaluate(*node.children[1], json::Value(done.error().message()), out);
  }
  static Status Negate(const json::Value& what, JqValues& out) {
    if (!what.is_number()) return Unexpected(JqFailure("cannot negate: " + std::string(JqTypeOf(what))));
    FLYBALL_ASSIGN(json::Value negated, JqOperate("-", json::Value(0), what));
    out.push_back(std::move(negated));
    return {};
  }
  Status Collect(const JqNode& node, const json::Value& input, JqValues& out) {
    JqValues items;
    if (node.children[0]) FLYBALL_TRY(Evaluate(*node.children[0], input, items));
    out.emplace_back(json::Array(std::move(items)));
    return {};
  }
  // Every combination of the results of keys and values.
  Status MakeObject(const JqNode& node, const json::Value& input, std::size_t next, const json::Object& made,
                    JqValues& out) {
    if (next == node.children.size()) {
      out.emplace_back(made);
      return {};
    }
    FLYBALL_ASSIGN(const JqValues keys, All(*node.children[next], input));
    FLYBALL_ASSIGN(const JqValues values, All(*node.children[next + 1], input));
    for (const json::Value& key : keys) {
      if (!key.is_string())
        return Unexpected(
            JqFailure("expected a string for object key but got: " + std::string(JqTypeOf(key))));
      for (const json::Value& value : values) {
        json::Object longer = made;
        longer.Set(key.as_string(), value);
        FLYBALL_TRY(MakeObject(node, input, next + 2, longer, out));
      }
    }
    return {};
  }
  Status Variable(const JqNode& node, JqValues& out) {
    const auto found = std::find_if(variables_.rbegin(), variables_.rend(),
                                    [&](const auto& variable) { return variable.first == node.name; });
    if (found == variables_.rend()) return Unexpected(JqFailure("variable not defined: $" + node.name));
    out.push_back(found->second);
    return {};
  }
  Status Operate(const JqNode& node, const json::Value& input, JqValues& out) {
    if (node.name == "//") return Alternative(node, input, out);
    const bool logical = node.name == "and" || node.name == "or";
    if (!logical) {
      FLYBALL_ASSIGN(const JqValues rights, All(*node.children[1], input));
      for (const json::Value& right : rights)
        FLYBALL_TRY(EachOf(node, input, [&](const json::Value& left) -> Status {
          FLYBALL_ASSIGN(json::Value result, JqOperate(node.name, left, right));
          out.push_back(std::move(result));
          return {};
        }));
      return {};
    }
    return EachOf(node, input, [&](const json::Value& left) -> Status {
      const bool decided = JqIsTrue(left) == (node.name == "or");
      if (decided) {
        out.emplace_back(node.name == "or");
        return {};
      }
      FLYBALL_ASSIGN(const JqValues rights, All(*node.children[1], input));
      for (const json::Value& right : rights) out.emplace_back(JqIsTrue(right));
      return {};
    });
  }
  // The results on the left that are true, or all of the right. Errors on the left are none.
  Status Alternative(const JqNode& node, const json::Value& input, JqValues& out) {
    JqValues lefts;
    (void)Evaluate(*node.children[0], input, lefts);
    std::erase_if(lefts, [](const json::Value& value) { return !JqIsTrue(value); });
    if (lefts.empty()) return Evaluate(*node.children[1], input, out);
    out.insert(out.end(), lefts.begin(), lefts.end());
    return {};
  }

  Status Call(const JqNode& node, const json::Value& input, JqValues& out) {
    if (HasJqFunction(node.name, node.children.size())) return CallWith(node, input, {}, out);
    if (node.name == "empty") return {};
    if (node.name == "error")
      return Unexpected(JqFailure(input.is_string() ? std::string(input.as_string()) : json::Write(input)));
    if (node.name == "recurse") {
      Descend(input, out);
      return {};
    }
    if (node.name == "any" || node.name == "all") return Quantify(node, input, out);
    const JqNode& body = *node.children[0];
    if (node.name == "select") return Select(body, input, out);
    if (node.name == "map" || node.name == "map_values") return Map(node.name, body, input, out);
    if (node.name == "with_entries") return WithEntries(body, input, out);
    if (node.name == "sort_by") return SortBy(body, input, out);
    FLYBALL_ASSIGN(JqValues results, All(body, input));
    if (node.name == "isempty") out.emplace_back(results.empty());
    if (node.name == "first" && !results.empty()) out.push_back(std::move(results.front()));
    if (node.name == "last" && !results.empty()) out.push_back(std::move(results.back()));
    return {};
  }
  // With every combination of the arguments' results.
  Status CallWith(const JqNode& node, const json::Value& input, const JqValues& args, JqValues& out) {
    if (args.size() == node.children.size()) {
      FLYBALL_ASSIGN(json::Value result, CallJqFunction(node.name, input, args));
      out.push_back(std::move(result));
      return {};
    }
    FLYBALL_ASSIGN(const JqValues next, All(*node.children[args.size()], input));
    for (const json::Value& arg : next) {
      JqValues longer = args;
      longer.push_back(arg);
      FLYBALL_TRY(CallWith(node, input, longer, out));
    }
    return {};
  }
  Status Select(const JqNode& body, const json::Value& input, JqValues& out) {
    FLYBALL_ASSIGN(const JqValues results, All(body, input));
    for (const json::Value& result : results)
      if (JqIsTrue(result)) out.push_back(input);
    return {};
  }
  // any, any(f), any(generator; f), and all.
  Status Quantify(const JqNode& node, const json::Value& input, JqValues& out) {
    JqValues items;
    if (node.children.size() == 2)
      FLYBALL_TRY(Evaluate(*node.children[0], input, items));
    else
      FLYBALL_TRY(Iterate(input, items));
    const bool any = node.name == "any";
    bool result = !any;
    for (const json::Value& item : items) {
      JqValues held{item};
      if (!node.children.empty()) {
        FLYBALL_ASSIGN(held, All(*node.children.back(), item));
      }
      for (const json::Value& value : held)
        if (JqIsTrue(value) == any) result = any;
    }
    out.emplace_back(result);
    return {};
  }
  Status Map(std::string_view name, const JqNode& body, const json::Value& input, JqValues& out) {
    if (name == "map_values" && input.is_object()) {
      json::Object mapped;
      for (const auto& [key, member] : input.as_object()) {
        FLYBALL_ASSIGN(const JqValues results, All(body, member));
        if (!results.empty()) mapped.Set(key, results.front());
      }
      out.emplace_back(std::move(mapped));
      return {};
    }
    JqValues items, mapped;
    FLYBALL_TRY(Iterate(input, items));
    for (const json::Value& item : items) {
      FLYBALL_ASSIGN(JqValues results, All(body, item));
      if (name == "map_values" && results.size() > 1) results.resize(1);
      mapped.insert(mapped.end(), results.begin(), results.end());
    }
    out.emplace_back(json::Array(std::move(mapped)));
    return {};
  }
  Status WithEntries(const JqNode& body, const json::Value& input, JqValues& out) {
    FLYBALL_ASSIGN(const json::Value entries, CallJqFunction("to_entries", input, {}));
    JqValues mapped;
    FLYBALL_TRY(Map("map", body, entries, mapped));
    FLYBALL_ASSIGN(json::Value object, CallJqFunction("from_entries", mapped.front(), {}));
    out.push_back(std::move(object));
    return {};
  }
  Status SortBy(const JqNode& body, const json::Value& input, JqValues& out) {
    if (!input.is_array())
      return Unexpected(JqFailure("sort_by cannot be applied to: " + std::string(JqTypeOf(input))));
    std::vector<std::pair<json::Value, json::Value>> keyed;
    for (const json::Value& item : input.as_array()) {
      FLYBALL_ASSIGN(JqValues keys, All(body, item));
      keyed.emplace_back(json::Value(json::Array(std::move(keys))), item);
    }
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return JqCompare(a.first, b.first) < 0; });
    json::Array sorted;
    for (auto& [key, item] : keyed) sorted.push_back(std::move(item));
    out.emplace_back(std::move(sorted));
    return {};
  }

  std::vector<std::pair<std::string, json::Value>> variables_;
  int depth_ = 0;
};

}  // namespace

Result<JqQuery> JqQuery::Parse(std::string_view text) {
  FLYBALL_ASSIGN(JqNodePtr root, ParseJq(text));
  return JqQuery(std::move(root));
}

Result<std::vector<json::Value>> JqQuery::Run(const json::Value& input) const {
  JqValues out;
  FLYBALL_TRY(JqRun().Evaluate(*root_, input, out));
  return out;
}

}  // namespace flyball::api
