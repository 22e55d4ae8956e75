// Comma-separated values as Go's encoding/csv reads them (RFC 4180), for kube-apiserver's token file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"

namespace flyball::server {

using CsvRecord = std::vector<std::string>;

// One record per line; lines end with LF or CRLF, and empty ones are skipped. A field in quotes may hold
// commas, line ends and doubled quotes. BadRequest naming the line for a quote where none may be.
Result<std::vector<CsvRecord>> ParseCsv(std::string_view text);

}  // namespace flyball::server
