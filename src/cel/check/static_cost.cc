#include "cel/check/static_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cel/functions/function.h"

namespace flyball::cel {
namespace {

constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();
constexpr double kStringFactor = 0.1, kRegexFactor = 0.25;
constexpr std::uint64_t kListBase = 10, kMapBase = 30, kStructBase = 40;

std::uint64_t SaturatedSum(std::uint64_t a, std::uint64_t b) {
  return a > kUnbounded - b ? kUnbounded : a + b;
}
std::uint64_t SaturatedProduct(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kUnbounded / b ? kUnbounded : a * b;
}
std::uint64_t Scaled(std::uint64_t n, double factor) {
  const auto x = static_cast<double>(n);
  if (x > 0 && factor > 0 && x > static_cast<double>(kUnbounded) / factor) return kUnbounded;
  const double result = std::ceil(x * factor);
  return result >= 18446744073709551616.0 ? kUnbounded : static_cast<std::uint64_t>(result);
}

// Sizes and costs are ranges with the same arithmetic.
struct Range {
  std::uint64_t min = 0, max = 0;

  static Range Fixed(std::uint64_t n) { return {n, n}; }
  static Range Unknown() { return {0, kUnbounded}; }
  Range operator+(const Range& o) const { return {SaturatedSum(min, o.min), SaturatedSum(max, o.max)}; }
  Range operator*(const Range& o) const {
    return {SaturatedProduct(min, o.min), SaturatedProduct(max, o.max)};
  }
  Range Times(double factor) const { return {Scaled(min, factor), Scaled(max, factor)}; }
  Range Union(const Range& o) const { return {std::min(min, o.min), std::max(max, o.max)}; }
};
using Size = std::optional<Range>;

// The sizes of a container's keys and values.
struct EntrySize {
  bool is_list;
  Range key, value;
};
using Entries = std::optional<EntrySize>;

Entries UnionOf(const Entries& a, const Entries& b) {
  if (!a || !b) return std::nullopt;
  return EntrySize{a->is_list, a->key.Union(b->key), a->value.Union(b->value)};
}

// From a variable down: field names, @items, @values, @keys. Shared from the end.
struct PathNode {
  std::shared_ptr<const PathNode> parent;
  std::string_view name;
};
using Path = std::shared_ptr<const PathNode>;

Path Extend(Path parent, std::string_view name) {
  return std::make_shared<PathNode>(PathNode{std::move(parent), name});
}
const PathNode* RootOf(const Path& path) {
  const PathNode* node = path.get();
  while (node && node->parent) node = node->parent.get();
  return node;
}

struct CallCost {
  Range cost;
  Size result;
};

// An argument or target as estimators see it.
struct Node {
  Path path;
  const Type* type = nullptr;
  const Expr* expr = nullptr;
  Size computed;
};

class Coster {
 public:
  explicit Coster(const DeclType* root) : root_(root) {}

  Range Cost(const Expr* e) {
    switch (e->kind) {
      case ExprKind::kLiteral:
        return {};
      case ExprKind::kIdent:
        return CostIdent(e);
      case ExprKind::kSelect:
        return CostSelect(e);
      case ExprKind::kCall:
        return CostCall(e);
      case ExprKind::kList:
        return CostList(e);
      case ExprKind::kMap:
        return CostMap(e);
      case ExprKind::kStruct:
        return CostStruct(e);
      case ExprKind::kComprehension:
        return IsBind(*e->comprehension) ? CostBind(e) : CostLoop(e);
      case ExprKind::kUnspecified:
        return {};
    }
    return {};
  }

 private:
  struct Local {
    std::string_view name;
    Path path;
    Size size;
    Entries entries;
  };

  const Local* FindLocal(std::string_view name) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it)
      if (it->name == name) return &*it;
    return nullptr;
  }
  Path PathOf(const Expr* e) const {
    if (e->kind == ExprKind::kIdent)
      if (const Local* local = FindLocal(e->name)) return local->path;
    const auto it = paths_.find(e);
    return it == paths_.end() ? nullptr : it->second;
  }
  // The size a schema states for what the path leads to.
  Size SchemaSize(const Path& path) const {
    if (!root_ || !path) return std::nullopt;
    std::vector<std::string_view> names;
    for (const PathNode* node = path.get(); node->parent; node = node->parent.get())
      names.push_back(node->name);
    const DeclType* at = root_;
    for (auto it = names.rbegin(); it != names.rend(); ++it) {
      if (*it == "@items" || *it == "@values") {
        at = at->element;
      } else if (*it == "@keys") {
        at = at->key;
      } else {
        const DeclField* field = at->object ? at->object->Find(*it) : nullptr;
        const DeclType* element = at->names_are_keys ? at->element : nullptr;
        at = field ? field->type : element;
      }
      if (!at) return std::nullopt;
    }
    return Range{0, static_cast<std::uint64_t>(at->max_elements)};
  }
  static Size LiteralSize(const Expr* e) {
    switch (e->kind) {
      case ExprKind::kLiteral:
        return Range::Fixed(CostSize(e->literal));
      case ExprKind::kList:
        return Range::Fixed(e->args.size());
      case ExprKind::kMap:
        return Range::Fixed(e->args.size() / 2);
      default:
        return std::nullopt;
    }
  }
  static bool IsScalar(const Type* type) {
    switch (type->kind) {
      case TypeKind::kBool:
      case TypeKind::kDouble:
      case TypeKind::kDuration:
      case TypeKind::kInt:
      case TypeKind::kTimestamp:
      case TypeKind::kUint:
        return true;
      default:
        return type->IsOptional() && IsScalar(type->params[0]);
    }
  }
  Size SizeOf(const Expr* e) {
    if (const auto it = sizes_.find(e); it != sizes_.end()) return it->second;
    if (const Size size = LiteralSize(e)) return size;
    if (const Size size = SchemaSize(PathOf(e))) {
      sizes_[e] = *size;
      return size;
    }
    if (IsScalar(e->type)) return Range::Fixed(1);
    if (e->kind == ExprKind::kIdent)
      if (const Local* local = FindLocal(e->name)) return local->size;
    return std::nullopt;
  }
  Range SizeOrUnknown(const Expr* e) { return SizeOf(e).value_or(Range::Unknown()); }
  static Range Known(const Node& node) { return node.computed.value_or(Range::Unknown()); }
  Range SizeOfNode(const Node& node) const {
    if (node.computed) return *node.computed;
    return SchemaSize(node.path).value_or(Range::Unknown());
  }
  void SetSize(const Expr* e, const Size& size) {
    if (size) sizes_[e] = *size;
  }
  Entries EntriesOf(const Expr* e) const {
    if (const auto it = entries_.find(e); it != entries_.end()) return it->second;
    if (e->kind == ExprKind::kIdent)
      if (const Local* local = FindLocal(e->name)) return local->entries;
    return std::nullopt;
  }
  void SetEntries(const Expr* e, const Entries& entries) {
    if (entries) entries_[e] = *entries;
  }
  Node NodeOf(const Expr* e) {
    Path path = PathOf(e);
    if (const PathNode* root = RootOf(path); root && (root->name == "@result" || root->name == "__result__"))
      path = nullptr;
    return {std::move(path), e->type, e, SizeOf(e)};
  }

  Range CostIdent(const Expr* e) {
    const Local* local = FindLocal(e->name);
    paths_[e] = local ? local->path : Extend(nullptr, e->name);
    return Range::Fixed(1);
  }
  Range CostSelect(const Expr* e) {
    Range sum = Cost(e->operand);
    if (e->test_only) return sum;
    const TypeKind kind = e->operand->type->kind;
    if (kind == TypeKind::kMap || kind == TypeKind::kStruct || kind == TypeKind::kTypeParam)
      sum = sum + Range::Fixed(1);
    if (const Path path = PathOf(e->operand))
      paths_[e] = Extend(path, e->name);
    else
      paths_[e] = Extend(nullptr, e->name);
    return sum;
  }
  Range CostList(const Expr* e) {
    Range sum, item{e->args.empty() ? 0 : kUnbounded, 0};
    for (const Expr* arg : e->args) {
      sum = sum + Cost(arg);
      item = item.Union(SizeOrUnknown(arg));
    }
    entries_[e] = EntrySize{true, Range::Fixed(1), item};
    return sum + Range::Fixed(kListBase);
  }
  Range CostMap(const Expr* e) {
    const std::uint64_t least = e->args.empty() ? 0 : kUnbounded;
    Range sum, key{least, 0}, value{least, 0};
    for (std::size_t i = 0; i < e->args.size(); i += 2) {
      sum = sum + Cost(e->args[i]) + Cost(e->args[i + 1]);
      key = key.Union(SizeOrUnknown(e->args[i]));
      value = value.Union(SizeOrUnknown(e->args[i + 1]));
    }
    entries_[e] = EntrySize{false, key, value};
    return sum + Range::Fixed(kMapBase);
  }
  Range CostStruct(const Expr* e) {
    Range sum;
    for (const Expr* arg : e->args) sum = sum + Cost(arg);
    return sum + Range::Fixed(kStructBase);
  }

  static bool IsBind(const Comprehension& c) {
    return c.range->kind == ExprKind::kList && c.range->args.empty() &&
           c.condition->kind == ExprKind::kLiteral && c.condition->literal.IsFalse() &&
           c.accu_var != "__result__";
  }
  void PushLocal(std::string_view name, const Expr* e) {
    locals_.push_back({name, PathOf(e), SizeOf(e), EntriesOf(e)});
  }
  // A variable that runs over the keys or values of `range`.
  void PushIteration(std::string_view name, const Expr* range, bool value) {
    const Entries entries = EntriesOf(range);
    const bool is_list = entries ? entries->is_list : range->type->kind == TypeKind::kList;
    const Size size = !entries ? std::nullopt : Size(value ? entries->value : entries->key);
    const std::string_view step = value ? (is_list ? "@items" : "@values") : (is_list ? "@indices" : "@keys");
    locals_.push_back({name, Extend(PathOf(range), step), size, std::nullopt});
  }
  Range CostBind(const Expr* e) {
    const Comprehension& c = *e->comprehension;
    Range sum = Cost(c.range) + Cost(c.init);
    PushLocal(c.accu_var, c.init);
    sum = sum + Cost(c.result);
    const Size size = SizeOf(c.result);
    const Entries entries = EntriesOf(c.result);
    locals_.pop_back();
    SetSize(e, size);
    SetEntries(e, entries);
    return sum;
  }
  Range CostLoop(const Expr* e) {
    const Comprehension& c = *e->comprehension;
    Range sum = Cost(c.range) + Cost(c.init);
    PushLocal(c.accu_var, c.init);
    const bool two = !c.iter_var2.empty();
    const Entries range_entries = EntriesOf(c.range);
    const bool is_list = range_entries ? range_entries->is_list : c.range->type->kind == TypeKind::kList;
    PushIteration(c.iter_var, c.range, !two && is_list);
    if (two) PushIteration(c.iter_var2, c.range, true);
    const Range each = Cost(c.condition) + Cost(c.step);
    locals_.resize(locals_.size() - (two ? 2 : 1));
    sum = sum + Cost(c.result);
    locals_.pop_back();
    const Range count = SizeOrUnknown(c.range);
    sum = sum + count * each;
    if (c.init->kind == ExprKind::kLiteral) {
      SetSize(e, SizeOf(c.init));
    } else if (c.init->kind == ExprKind::kList || c.init->kind == ExprKind::kMap) {
      SetSize(e, count);
      SetEntries(e, EntriesOf(c.step));
    }
    return sum;
  }

  Range CostCall(const Expr* e) {
    if (e->name == "dyn") {
      const Range cost = Cost(e->args[0]) + Range::Fixed(1);
      SetSize(e, SizeOf(e->args[0]));
      SetEntries(e, EntriesOf(e->args[0]));
      return cost;
    }
    std::vector<Range> arg_costs;
    std::vector<Node> args;
    for (const Expr* arg : e->args) {
      arg_costs.push_back(Cost(arg));
      args.push_back(NodeOf(arg));
    }
    if (e->overloads.empty()) return {};
    Range sum;
    Node target;
    if (e->is_member) {
      sum = Cost(e->operand);
      target = NodeOf(e->operand);
    }
    Range cost{kUnbounded, 0};
    Size result;
    for (const Overload* overload : e->overloads) {
      const CallCost call = CostOverload(e, overload->id, e->is_member ? &target : nullptr, args, arg_costs);
      cost = cost.Union(call.cost);
      if (call.result) result = result ? result->Union(*call.result) : *call.result;
      if (overload->id == "index_list" || overload->id == "index_map") {
        const Entries entries = EntriesOf(e->args[0]);
        result = entries ? Size(entries->value) : std::nullopt;
        paths_[e] = Extend(PathOf(e->args[0]), overload->id == "index_list" ? "@items" : "@values");
      }
      if (!result) result = SizeOf(e);
    }
    SetSize(e, result);
    return sum + cost;
  }

  CallCost CostOverload(const Expr* e, const std::string& id, const Node* target,
                        const std::vector<Node>& args, const std::vector<Range>& arg_costs) {
    Range arg_sum;
    for (const Range& cost : arg_costs) arg_sum = arg_sum + cost;
    auto special = ExtensionCost(id, target, args);
    if (!special) special = KubernetesCost(e->name, id, target, args);
    if (special) return {special->cost + arg_sum, special->result};
    return StandardCost(e, id, target, args, arg_costs, arg_sum);
  }

  // Overloads whose libraries bring their own estimates (ext/lists.go, ext/sets.go).
  static std::uint64_t LiteralOr(const Node& node, std::uint64_t fallback) {
    if (node.expr->kind != ExprKind::kLiteral || !node.expr->literal.Is(ValueKind::kInt)) return fallback;
    return node.expr->literal.as_int() < 0 ? 0 : static_cast<std::uint64_t>(node.expr->literal.as_int());
  }
  static CallCost NewList(double factor, const Range& size) {
    return {size.Times(factor) + Range::Fixed(1) + Range::Fixed(kListBase), size};
  }
  std::optional<CallCost> ExtensionCost(const std::string& id, const Node* target,
                                        const std::vector<Node>& args) const {
    if (id.starts_with("list_sets_") && args.size() == 2) {
      const double factor = id == "list_sets_equivalent_list" ? 2 : 1;
      return CallCost{(SizeOfNode(args[0]) * SizeOfNode(args[1])).Times(factor) + Range::Fixed(1),
                      std::nullopt};
    }
    if (id == "lists_range") return NewList(1, Range::Fixed(LiteralOr(args[0], kUnbounded)));
    if (!target) return std::nullopt;
    if (id == "list_slice")
      return NewList(1, Range::Fixed(LiteralOr(args[1], SizeOfNode(*target).max) - LiteralOr(args[0], 0)));
    if (id == "list_flatten") return NewList(1, SizeOfNode(*target));
    if (id == "list_flatten_int")
      return NewList(static_cast<double>(LiteralOr(args[0], kUnbounded)), SizeOfNode(*target));
    if (id == "list_reverse") return NewList(1, SizeOfNode(*target));
    const auto compared = [&](const Range& size, bool text) {
      return NewList(text ? 2.0 + kStringFactor : 2.0, size * size);
    };
    if (id == "list_distinct") return compared(SizeOfNode(*target), false);
    const bool text = id.starts_with("list_string_") || id.starts_with("list_bytes_");
    if (id.ends_with("_sort") && id.starts_with("list_")) return compared(SizeOfNode(*target), text);
    if (id.ends_with("_sortByAssociatedKeys")) return compared(SizeOfNode(args[0]), text);
    return std::nullopt;
  }

  // Functions that Kubernetes estimates itself, by name.
  static bool IsAny(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  static CallCost Only(const Range& cost) { return {cost, std::nullopt}; }
  std::optional<CallCost> KubernetesCost(std::string_view name, const std::string& id, const Node* target,
                                         const std::vector<Node>& args) const {
    const Range one = Range::Fixed(1);
    if (name == "check") return Only(Range::Fixed(350000));
    if (IsAny(name, {"serviceAccount",
                     "path",
                     "group",
                     "resource",
                     "subresource",
                     "namespace",
                     "name",
                     "allowed",
                     "reason",
                     "error",
                     "errored",
                     "masked",
                     "prefixLength",
                     "family",
                     "isUnspecified",
                     "isLoopback",
                     "isLinkLocalMulticast",
                     "isLinkLocalUnicast",
                     "isGlobalUnicast",
                     "format.named",
                     "sign",
                     "asInteger",
                     "isInteger",
                     "asApproximateFloat",
                     "isGreaterThan",
                     "isLessThan",
                     "compareTo",
                     "add",
                     "sub",
                     "major",
                     "minor",
                     "patch",
                     "getScheme",
                     "getHostname",
                     "getHost",
                     "getPort",
                     "getEscapedPath",
                     "getQuery"}))
      return Only(one);
    if ((name == "fieldSelector" || name == "labelSelector") && args.size() == 1) {
      const Range length = SizeOfNode(args[0]);
      return Only(Range::Fixed(kListBase) + length.Times(kStringFactor) +
                  length.Times(0.5).Times(static_cast<double>(kListBase + kStructBase)));
    }
    if (IsAny(name, {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"}) && target)
      return TraversalCost(name, *target);
    if (IsAny(name, {"url", "jsonpatch.escapeKey"}) && args.size() == 1) {
      const Range size = SizeOfNode(args[0]);
      return CallCost{size.Times(kStringFactor), size};
    }
    if (IsAny(name, {"lowerAscii", "upperAscii", "substring", "trim"}) && target) {
      const Range size = SizeOfNode(*target);
      return CallCost{size.Times(kStringFactor), size};
    }
    if (name == "replace" && target && args.size() >= 2) return ReplaceCost(*target, args);
    if (name == "split" && target) {
      const Range size = SizeOfNode(*target);
      std::uint64_t most = size.max;
      if (args.size() > 1 && args[1].expr->kind == ExprKind::kLiteral &&
          args[1].expr->literal.Is(ValueKind::kInt))
        most = static_cast<std::uint64_t>(args[1].expr->literal.as_int());
      return CallCost{size.Times(2 * kStringFactor), Range{0, most}};
    }
    if (name == "join" && target) return JoinCost(*target, args);
    if (IsAny(name, {"find", "findAll"}) && target && !args.empty()) {
      const Range size = SizeOfNode(*target);
      return CallCost{(size + one).Times(kStringFactor) * SizeOfNode(args[0]).Times(kRegexFactor),
                      Range{0, size.max}};
    }
    if (name == "ip" && id == "cidr_ip") return Only(one);
    if (IsAny(name, {"cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"}) &&
        !args.empty())
      return Only(SizeOfNode(args[0]).Times(kStringFactor));
    if (name == "ip.isCanonical" && !args.empty()) return Only(SizeOfNode(args[0]).Times(2 * kStringFactor));
    if (IsAny(name, {"containsIP", "containsCIDR"}) && !args.empty())
      return ContainmentCost(name, id, args[0]);
    if (name == "validate" && !args.empty())
      return Only(SizeOfNode(args[0]).Times(kStringFactor).Times(128 * kRegexFactor));
    if (name == "_==_" && args.size() == 2) return EqualityCost(args[0], args[1]);
    return std::nullopt;
  }
  std::optional<CallCost> TraversalCost(std::string_view name, const Node& target) const {
    const Range size = SizeOfNode(target);
    Range each = Range::Fixed(1);
    if (!target.type->params.empty()) {
      const Type* element = target.type->params[0];
      if (element->kind == TypeKind::kString || element->kind == TypeKind::kBytes) {
        const Path path = target.path ? Extend(target.path, "@items") : nullptr;
        each = each + SchemaSize(path).value_or(Range::Unknown()).Times(kStringFactor);
      }
      return Only(size * each);
    }
    return name == "includes" ? Only(size * each) : Only(size.Times(kStringFactor));
  }
  std::optional<CallCost> ReplaceCost(const Node& target, const std::vector<Node>& args) const {
    const Range size = SizeOfNode(target), old = SizeOfNode(args[0]), with = SizeOfNode(args[1]);
    Range count, retained;
    const auto divided = [](std::uint64_t a, std::uint64_t b) {
      const double q = std::ceil(static_cast<double>(a) / static_cast<double>(b));
      return q >= 18446744073709551616.0 ? kUnbounded : static_cast<std::uint64_t>(q);
    };
    if (old.min == 0) {
      count.max = SaturatedSum(size.max, 1);
      retained.max = size.max;
    } else if (with.max <= old.min) {
      retained.max = size.max;
    } else {
      count.max = divided(size.max, old.min);
    }
    if (old.max == 0) {
      count.min = SaturatedSum(size.min, 1);
      retained.min = size.min;
    } else if (old.max <= with.min) {
      retained.min = size.min;
    } else {
      count.min = divided(size.min, old.max);
    }
    return CallCost{size.Times(2 * kStringFactor), count * with + retained};
  }
  std::optional<CallCost> JoinCost(const Node& target, const std::vector<Node>& args) const {
    const Range list = SizeOfNode(target);
    Range size;
    if (!target.type->params.empty()) {
      const Path path = target.path ? Extend(target.path, "@items") : nullptr;
      size = list * SchemaSize(path).value_or(Range::Unknown());
    }
    if (!args.empty()) {
      const Range separators{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
      size = size + SizeOfNode(args[0]) * separators;
    }
    return CallCost{size.Times(kStringFactor), size};
  }
  std::optional<CallCost> ContainmentCost(std::string_view name, const std::string& id,
                                          const Node& arg) const {
    const Range bytes{4, 16};
    Range cost = (bytes + bytes).Times(kStringFactor);
    if (name == "containsCIDR") cost = cost + bytes.Times(kStringFactor) + Range::Fixed(1);
    if (id.ends_with("_string")) cost = cost + SizeOfNode(arg).Times(kStringFactor);
    return Only(cost);
  }
  static std::optional<CallCost> EqualityCost(const Node& a, const Node& b) {
    if (!a.type->Same(*b.type, true)) return std::nullopt;
    const std::string& name = a.type->name;
    if (a.type->kind == TypeKind::kOpaque) {
      if (name == types::kIp.name || name == types::kCidr.name) return Only(Range::Fixed(1));
      return std::nullopt;
    }
    if (a.type->kind != TypeKind::kStruct) return std::nullopt;
    for (const Type* type : {&types::kQuantity, &types::kAuthorizer, &types::kPathCheck, &types::kGroupCheck,
                             &types::kResourceCheck, &types::kDecision, &types::kSemver})
      if (name == type->name) return Only(Range::Fixed(1));
    if (name == types::kNamedFormat.name) return Only(Range{1, 64}.Times(kStringFactor));
    if (name == types::kUrl.name)
      return Only(Range{1, b.computed ? b.computed->max : 1}.Times(kStringFactor));
    return std::nullopt;
  }

  CallCost StandardCost(const Expr* e, const std::string& id, const Node* target,
                        const std::vector<Node>& args, const std::vector<Range>& arg_costs,
                        const Range& arg_sum) {
    const auto plus = [&](const Range& cost) { return CallCost{cost + arg_sum, std::nullopt}; };
    if (id == "string_format" && target) return plus(Known(*target).Times(kStringFactor));
    if (id == "string_to_bytes") {
      const Range size = Known(args[0]);
      return {size.Times(kStringFactor) + arg_sum, Range{size.min, size.max * 4}};
    }
    if (id == "bytes_to_string") {
      const Range size = Known(args[0]);
      return {size.Times(kStringFactor) + arg_sum, Range{size.min / 4, size.max}};
    }
    if (id == "strings_quote") {
      const Range size = Known(args[0]);
      return {size.Times(kStringFactor) + arg_sum, Range{size.min + 2, size.max * 2 + 2}};
    }
    if ((id == "starts_with_string" || id == "ends_with_string") && args.size() == 1)
      return plus(Known(args[0]).Times(kStringFactor));
    if (id == "in_list" && args.size() == 2) return plus(Known(args[1]).Times(1));
    if (id == "matches" || id == "matches_string") {
      const Node& text = target ? *target : args[0];
      const Node& regex = target ? args[0] : args[1];
      return plus((Known(text) + Range::Fixed(1)).Times(kStringFactor) * Known(regex).Times(kRegexFactor));
    }
    if (id == "contains_string" && target && args.size() == 1)
      return plus(Known(*target).Times(kStringFactor) * Known(args[0]).Times(kStringFactor));
    if (id == "logical_or" || id == "logical_and")
      return {Range{arg_costs[0].min, (arg_costs[0] + arg_costs[1]).max}, std::nullopt};
    if (id == "conditional") {
      SetEntries(e, UnionOf(EntriesOf(e->args[1]), EntriesOf(e->args[2])));
      return {arg_costs[0] + arg_costs[1].Union(arg_costs[2]), Known(args[1]).Union(Known(args[2]))};
    }
    if (id == "add_string" || id == "add_bytes" || id == "add_list") {
      const Range size = Known(args[0]) + Known(args[1]);
      SetEntries(e, UnionOf(EntriesOf(e->args[0]), EntriesOf(e->args[1])));
      return {(id == "add_list" ? Range::Fixed(1) : size.Times(kStringFactor)) + arg_sum, size};
    }
    const bool ordered = id.starts_with("less_") || id.starts_with("greater_");
    if (id == "equals" || id == "not_equals" ||
        (ordered && (id.ends_with("_string") || id.ends_with("_bytes")))) {
      const std::uint64_t smaller = std::min(Known(args[0]).max, Known(args[1]).max);
      return plus(Range{smaller > 0 ? std::uint64_t{1} : 0, smaller}.Times(kStringFactor));
    }
    return plus(Range::Fixed(1));
  }

  const DeclType* root_;
  std::vector<Local> locals_;
  std::unordered_map<const Expr*, Path> paths_;
  std::unordered_map<const Expr*, Range> sizes_;
  std::unordered_map<const Expr*, EntrySize> entries_;
};

}  // namespace

CostEstimate EstimateCost(const Ast& ast, const DeclType* root) {
  const Range cost = Coster(root).Cost(ast.root);
  return {cost.min, cost.max};
}

}  // namespace flyball::cel
