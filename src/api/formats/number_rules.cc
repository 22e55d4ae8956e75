#include "api/formats/number_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "json/json.h"

namespace flyball::api {

namespace {

using json::Value;

// The number as Go prints it: without a fraction where there is none.
Value Plain(double number) {
  constexpr double kLargest = 9.2e18;
  if (std::floor(number) == number && std::fabs(number) < kLargest)
    return Value(static_cast<std::int64_t>(number));
  return Value(number);
}

bool FitsInteger(double number, double least, double most) {
  return std::floor(number) == number && number >= least && number <= most;
}

// The type and the format that the schema restricts numbers to; nothing if they do not go together.
class NumberType {
 public:
  explicit NumberType(const Value& node) {
    if (node["x-kubernetes-int-or-string"].bool_or(false)) return;
    const auto type = node["type"].string_or(""), format = node["format"].string_or("");
    if (type != "integer" && type != "number") return;
    type_ = type;
    if (type == "integer" ? format == "int32" || format == "int64" : format == "float" || format == "double")
      format_ = format;
  }

  bool Fits(double number) const {
    using Int32 = std::numeric_limits<std::int32_t>;
    constexpr double kInt64 = 9223372036854775808.0;
    if (type_ == "integer")
      return format_ == "int32" ? FitsInteger(number, Int32::min(), Int32::max())
                                : FitsInteger(number, -kInt64, std::nextafter(kInt64, 0));
    return format_ != "float" || !std::isinf(static_cast<float>(number));
  }
  std::string Problem(const std::string& what, const std::string& name) const {
    const std::string format = format_.empty() ? " (default format)" : " with format " + format_;
    return what + " value must be of type " + type_ + format + " in " + name;
  }

 private:
  std::string type_, format_;
};

class NumberCheck {
 public:
  NumberCheck(const Value& node, const Value& value, const std::string& name)
      : node_(node), value_(value), name_(name), type_(node) {}

  std::vector<NumberProblem> Run() && {
    CheckFits(value_.is_int() ? WithinDouble(value_.as_int()) : value_.as_double(), "Checked");
    CheckMultiple();
    CheckLimit("minimum", "exclusiveMinimum", "Minimum boundary", "should be greater than ");
    CheckLimit("maximum", "exclusiveMaximum", "Maximum boundary", "should be less than ");
    return std::move(problems_);
  }

 private:
  bool CheckFits(double number, const std::string& what) {
    if (type_.Fits(number)) return true;
    problems_.push_back({type_.Problem(what, name_), "", false});
    return false;
  }
  // The largest integers round up to what is no integer of 64 bits.
  static double WithinDouble(std::int64_t number) {
    return std::min(static_cast<double>(number), std::nextafter(9223372036854775808.0, 0));
  }
  void Add(const std::string& text, Value shown) { problems_.push_back({text, std::move(shown)}); }

  // What is said in the schema, cut to a whole number where the value is one and the limit may be.
  double Comparable(double limit, bool fits) const {
    return value_.is_int() && fits ? std::trunc(limit) : limit;
  }

  void CheckMultiple() {
    const Value& given = node_["multipleOf"];
    if (!given.is_number()) return;
    const double factor = Comparable(given.as_double(), CheckFits(given.as_double(), "MultipleOf"));
    if (factor <= 0)
      return Add(
          "factor MultipleOf declared for " + name_ + " must be positive: " + json::Write(Plain(factor)),
          Plain(factor));
    const double number = value_.as_double();
    const double quotient = factor < 1 ? 1 / factor * number : number / factor;
    if (!IsJsonInteger(quotient))
      Add(name_ + " in body should be a multiple of " + json::Write(Plain(factor)), value_);
  }

  void CheckLimit(std::string_view keyword, std::string_view exclusively, const std::string& what,
                  const std::string& text) {
    const Value& given = node_[keyword];
    if (!given.is_number()) return;
    const double limit = Comparable(given.as_double(), CheckFits(given.as_double(), what));
    const bool exclusive = node_[exclusively].bool_or(false);
    const double over = (value_.as_double() - limit) * (keyword == "maximum" ? 1 : -1);
    if (exclusive ? over < 0 : over <= 0) return;
    Add(name_ + " in body " + text + (exclusive ? "" : "or equal to ") + json::Write(Plain(limit)), value_);
  }

  const Value& node_;
  const Value& value_;
  const std::string& name_;
  const NumberType type_;
  std::vector<NumberProblem> problems_;
};

}  // namespace

bool IsJsonInteger(double number) {
  constexpr double kLargest = 9007199254740991.0, kTolerance = 1e-9;
  if (std::isnan(number) || std::fabs(number) > kLargest) return false;
  const double whole = std::trunc(number);
  if (whole == number) return true;
  return std::fabs(number - whole) / (std::fabs(number) + std::fabs(whole)) < kTolerance;
}

std::vector<NumberProblem> NumberProblems(const Value& node, const Value& value, const std::string& name) {
  return NumberCheck(node, value, name).Run();
}

}  // namespace flyball::api
