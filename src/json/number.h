// Numbers as Go writes them. Private to the module.
#pragma once

#include <cstdint>
#include <string>

namespace flyball::json {

void AppendInt(std::int64_t n, std::string& out);
// encoding/json: the shortest digits that read back the same, plain between 1e-6 and 1e21. What JSON cannot
// say (infinities, not a number) becomes null.
void AppendDouble(double d, std::string& out);

// strconv's 'g' of the shortest digits, which go-yaml uses: with an exponent below 1e-4 and from 1e+06 on.
// `single`: rounded to a 32-bit float first.
std::string FormatGeneral(double d, bool single);

}  // namespace flyball::json
