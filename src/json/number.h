// Writes numbers as Go does. Private to the module.
#pragma once

#include <cstdint>
#include <string>

namespace flyball::json {

void AppendInt(std::int64_t n, std::string& out);
// As encoding/json: the shortest digits that parse back to the same value, without an exponent between 1e-6
// and 1e21. Values that JSON cannot express (infinities, NaN) become null.
void AppendDouble(double d, std::string& out);

// As strconv's 'g' format with the shortest digits, which go-yaml uses: with an exponent below 1e-4 and from
// 1e+06. `single`: rounded to a 32-bit float first.
std::string FormatGeneral(double d, bool single);

}  // namespace flyball::json
