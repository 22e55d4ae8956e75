// Parts that the descriptions of all kinds share. Every function returns text with tabs, for
// DescriptionWriter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

// "Labels:\ta=b\n\tc=d\n", "<none>" if there are none.
std::string LabelLines(std::string_view title, const json::Value& labels);
// The same without the last-applied annotation.
std::string AnnotationLines(std::string_view title, const json::Value& annotations);
// "Name:\tweb\nNamespace:\tw\n"; without a namespace, its line is omitted.
std::string NameLines(const json::Value& object);
// The same with labels and annotations.
std::string MetadataLines(const json::Value& object);
// The texts of a list, with `between` between them.
std::string Joined(const json::Value& list, const char* between = ",");
// "Mon, 02 Jan 2006 15:04:05 +0000" from RFC 3339.
std::string LongTime(const json::Value& time);
// "5m", as ages are printed.
std::string AgeSince(const Session& session, const json::Value& time);
// A number, a string, a condition's status, ...; `none` if absent.
std::string TextOr(const json::Value& value, std::string_view none);
// "app=web,tier in (a,b)".
std::string SelectorText(const json::Value& selector);
// "ReplicaSet/web-1" for the controlling owner; "" if there is none.
std::string ControllerText(const json::Value& object);
// "5m (x3 over 10m)": when it was last seen, and how often.
std::string EventAge(const Session& session, const json::Value& event);
// Oldest first.
Result<std::vector<json::Value>> EventsBySelector(Session& session, const std::string& ns,
                                                  const std::string& field_selector);
// The events about the object, with a heading.
std::string EventLines(Session& session, const json::Value& object);

}  // namespace flyball::cli
