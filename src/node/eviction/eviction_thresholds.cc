#include "node/eviction/eviction_thresholds.h"

#include <charconv>

#include "base/values/ascii.h"

namespace flyball::node {
namespace {

struct SignalRow {
  std::string_view signal, condition, resource;
};
constexpr SignalRow kSignals[] = {
    {"memory.available", "MemoryPressure", "memory"},
    {"nodefs.available", "DiskPressure", "ephemeral-storage"},
    {"nodefs.inodesFree", "DiskPressure", "inodes"},
    {"imagefs.available", "DiskPressure", "ephemeral-storage"},
    {"imagefs.inodesFree", "DiskPressure", "inodes"},
    {"pid.available", "PIDPressure", "pids"},
};

const SignalRow* FindSignal(std::string_view signal) {
  for (const SignalRow& row : kSignals)
    if (row.signal == signal) return &row;
  return nullptr;
}

api::Quantity ByteQuantity(std::uint64_t bytes) {
  return api::Quantity(static_cast<std::int64_t>(bytes), 0, api::Quantity::Format::kBinarySI);
}
api::Quantity CountQuantity(std::uint64_t count) {
  return api::Quantity(static_cast<std::int64_t>(count));
}

Result<EvictionThreshold> ParseOne(std::string_view statement) {
  const std::size_t less = statement.find('<');
  if (less == std::string_view::npos)
    return Unexpected(BadRequest("invalid eviction threshold \"" + std::string(statement) +
                                 "\": want SIGNAL<AMOUNT, such as memory.available<100Mi"));
  EvictionThreshold threshold{.signal = std::string(Trimmed(statement.substr(0, less)))};
  if (!FindSignal(threshold.signal))
    return Unexpected(BadRequest("unsupported eviction signal " + threshold.signal));
  const std::string_view amount = Trimmed(statement.substr(less + 1));
  if (!amount.ends_with('%')) {
    FLYBALL_ASSIGN(threshold.quantity, api::Quantity::Parse(amount));
    if (threshold.quantity.Sign() < 0)
      return Unexpected(BadRequest("eviction threshold " + threshold.signal +
                                   " cannot be negative: " + std::string(amount)));
    return threshold;
  }
  double percent = 0;
  const auto [end, problem] = std::from_chars(amount.data(), amount.data() + amount.size() - 1, percent);
  if (problem != std::errc() || end != amount.data() + amount.size() - 1 || percent < 0 || percent >= 100)
    return Unexpected(BadRequest("eviction percentage threshold " + threshold.signal +
                                 " must be >= 0% and < 100%: " + std::string(amount)));
  threshold.share = percent / 100;
  return threshold;
}

void ObserveDisk(const std::string& name, const std::optional<DiskUsage>& disk, SignalObservations& out) {
  if (!disk || disk->capacity == 0) return;
  out[name + ".available"] = {ByteQuantity(disk->available), ByteQuantity(disk->capacity)};
  // Some file systems do not count them.
  if (disk->inodes > 0)
    out[name + ".inodesFree"] = {CountQuantity(disk->inodes_free), CountQuantity(disk->inodes)};
}

}  // namespace

Result<EvictionThresholds> ParseEvictionThresholds(std::string_view text) {
  EvictionThresholds thresholds;
  for (const std::string& statement : SplitWords(text, ",")) {
    FLYBALL_ASSIGN(EvictionThreshold threshold, ParseOne(statement));
    // Zero turns a signal off.
    if (threshold.share > 0 || threshold.quantity.Sign() > 0) thresholds.push_back(std::move(threshold));
  }
  return thresholds;
}

SignalObservations ObserveSignals(const NodeStats& stats) {
  SignalObservations observations;
  if (stats.memory_capacity > 0)
    observations["memory.available"] = {ByteQuantity(stats.memory_available),
                                        ByteQuantity(stats.memory_capacity)};
  ObserveDisk("nodefs", stats.disk, observations);
  ObserveDisk("imagefs", stats.images ? stats.images : stats.disk, observations);
  if (stats.max_processes > stats.processes)
    observations["pid.available"] = {CountQuantity(stats.max_processes - stats.processes),
                                     CountQuantity(stats.max_processes)};
  return observations;
}

api::Quantity ThresholdQuantity(const EvictionThreshold& threshold, const api::Quantity& capacity) {
  if (threshold.share <= 0) return threshold.quantity;
  return api::Quantity(static_cast<std::int64_t>(static_cast<double>(capacity.Value()) * threshold.share), 0,
                       api::Quantity::Format::kBinarySI);
}

EvictionThresholds ThresholdsMet(const EvictionThresholds& thresholds,
                                 const SignalObservations& observations) {
  EvictionThresholds met;
  for (const EvictionThreshold& threshold : thresholds) {
    const auto observed = observations.find(threshold.signal);
    if (observed != observations.end() &&
        observed->second.available < ThresholdQuantity(threshold, observed->second.capacity))
      met.push_back(threshold);
  }
  return met;
}

std::string ConditionOfSignal(std::string_view signal) {
  const SignalRow* const row = FindSignal(signal);
  return row ? std::string(row->condition) : std::string();
}

std::string ResourceOfSignal(std::string_view signal) {
  const SignalRow* const row = FindSignal(signal);
  return row ? std::string(row->resource) : std::string();
}

}  // namespace flyball::node
