// Whether a text is a cron schedule, in the words of the library Kubernetes uses (robfig/cron's standard
// parser).
#pragma once

#include <string>
#include <string_view>

namespace flyball::api {

// What is wrong with five fields, an @descriptor or "@every <duration>"; "" if nothing is.
std::string CronScheduleProblem(std::string_view schedule);

// True for the names of the IANA time zone database.
bool IsTimeZone(std::string_view name);

}  // namespace flyball::api
