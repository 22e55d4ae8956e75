#include <cmath>

#include "cel/eval/call.h"
#include "cel/formats/named_format.h"
#include "cel/values/opaque.h"

namespace flyball::cel {
namespace {

constexpr double kTextFactor = 0.1, kPatternFactor = 0.25;
constexpr std::uint64_t kNewListCost = 10;

std::uint64_t Part(double size, double factor = kTextFactor) {
  return static_cast<std::uint64_t>(std::ceil(size * factor));
}
std::uint64_t PartOf(const Value& value, double factor = kTextFactor) {
  return Part(static_cast<double>(CostSize(value)), factor);
}

std::uint64_t Traversal(Arena& arena, const Value& value, int depth) {
  switch (value.kind()) {
    case ValueKind::kString:
    case ValueKind::kBytes:
      return static_cast<std::uint64_t>(static_cast<double>(value.text().size()) * kTextFactor);
    case ValueKind::kList: {
      std::uint64_t cost = 0;
      for (std::size_t i = 0, n = ListSize(value); i < n && depth < 1000; ++i)
        cost += Traversal(arena, ListElement(arena, value, i), depth + 1);
      return cost;
    }
    case ValueKind::kMap: {
      std::uint64_t cost = 0;
      ForEachEntry(arena, value, true, [&](const Value& k, const Value& v) {
        cost += Traversal(arena, k, depth + 1) + Traversal(arena, v, depth + 1);
        return depth < 1000;
      });
      return cost;
    }
    default:
      return 1;
  }
}

std::uint64_t NewListCost(double factor, std::uint64_t size) {
  if (factor < 0) factor = 1;
  const double scaled = static_cast<double>(size) * factor;
  if (scaled > 1e18) return UINT64_MAX;
  return static_cast<std::uint64_t>(scaled) + 1 + kNewListCost;
}

std::uint64_t SelfCompareCost(Arena& arena, const Value& list) {
  if (!list.Is(ValueKind::kList)) return 1;
  const std::size_t size = ListSize(list);
  if (size == 0) return NewListCost(2, 0);
  const Value first = ListElement(arena, list, 0);
  const bool text = first.Is(ValueKind::kString) || first.Is(ValueKind::kBytes);
  return NewListCost(text ? 2 + kTextFactor : 2, size * size);
}

bool IsKubernetesValue(const Value& value) {
  return value.Is(ValueKind::kOpaque);
}

}  // namespace

std::uint64_t CallCostOf(Arena& arena, CostRule rule, const Overload* overload, const Value* args,
                         std::size_t count, const Value& result) {
  switch (rule) {
    case CostRule::kOne:
      return 1;
    case CostRule::kScanFirst:
      return PartOf(args[0]);
    case CostRule::kScanSecond:
      return PartOf(args[1]);
    case CostRule::kScanFirstTwice:
      return PartOf(args[0], 2 * kTextFactor);
    case CostRule::kScanBoth:
      return Part(static_cast<double>(CostSize(args[0]) + CostSize(args[1])));
    case CostRule::kEquality:
      if (IsKubernetesValue(args[0])) return 1;
      [[fallthrough]];
    case CostRule::kScanShorter:
      return Part(static_cast<double>(std::min(CostSize(args[0]), CostSize(args[1]))));
    case CostRule::kSecondSize:
      return CostSize(args[1]);
    case CostRule::kRegex:
      return Part(1.0 + static_cast<double>(CostSize(args[0]))) * PartOf(args[1], kPatternFactor);
    case CostRule::kContains:
      return PartOf(args[0]) * PartOf(args[1]);
    case CostRule::kAuthorizerCheck:
      return 350000;
    case CostRule::kSelector: {
      const auto length = static_cast<double>(CostSize(args[1]));
      return kNewListCost + Part(length) + Part(static_cast<double>(Part(length, 0.5)), 50);
    }
    case CostRule::kTraversal:
      return Traversal(arena, args[0], 0);
    case CostRule::kJoin:
      return PartOf(result, 2 * kTextFactor);
    case CostRule::kContainsIp:
    case CostRule::kContainsCidr: {
      const std::uint64_t size = CostSize(args[0]);
      std::uint64_t cost = Part(static_cast<double>(size + size));
      if (rule == CostRule::kContainsCidr) cost += Part(static_cast<double>(size)) + 1;
      if (overload && overload->id.ends_with("_string")) cost += PartOf(args[1]);
      return cost;
    }
    case CostRule::kValidateFormat: {
      if (!IsKubernetesValue(args[0]) || args[0].opaque()->kind != OpaqueKind::kFormat) return 1;
      const NamedFormat& format = *static_cast<const FormatValue*>(args[0].opaque())->format;
      return Part(1.0 + static_cast<double>(CostSize(args[1]))) * Part(format.max_regex_size, kPatternFactor);
    }
    case CostRule::kListOutput:
      return NewListCost(1, CostSize(result));
    case CostRule::kListFlatten:
      return NewListCost(
          count == 2 && args[1].Is(ValueKind::kInt) ? static_cast<double>(args[1].as_int()) : 1,
          CostSize(args[0]));
    case CostRule::kListCompareFirst:
      return SelfCompareCost(arena, args[0]);
    case CostRule::kListCompareSecond:
      return SelfCompareCost(arena, args[1]);
    case CostRule::kSetsOnce:
      return 1 + CostSize(args[0]) * CostSize(args[1]);
    case CostRule::kSetsTwice:
      return 1 + 2 * CostSize(args[0]) * CostSize(args[1]);
  }
  return 1;
}

}  // namespace flyball::cel
