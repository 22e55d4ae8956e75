#include "cli/foreign_flags/flag_parser.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/foreign_flags/etcd_flags.h"
#include "cli/foreign_flags/kube_apiserver_flags.h"

namespace flyball::cli {
namespace {

using Words = std::vector<std::string>;

// name=value for each flag, or the error.
std::string Parsed(const Words& arguments, FlagStyle style = FlagStyle::kPosix) {
  const auto parsed =
      ParseFlags(style == FlagStyle::kPosix ? KubeApiserverFlags() : EtcdFlags(), arguments, style);
  if (!parsed) return parsed.error().message();
  std::string text = parsed->help ? "help " : "";
  for (const auto& [flag, value] : parsed->given) text += std::string(flag->name) + "=" + value + " ";
  for (const std::string& argument : parsed->arguments) text += argument + " ";
  return text;
}

TEST(FlagParserTest, TakesValuesAsPflagDoes) {
  EXPECT_EQ(Parsed({"--secure-port=1", "--bind-address", "::1"}), "secure-port=1 bind-address=::1 ");
  EXPECT_EQ(Parsed({"--allow-privileged", "--profiling=false"}), "allow-privileged=true profiling=false ");
  EXPECT_EQ(Parsed({"--allow-privileged", "false"}), "allow-privileged=true false ");
  EXPECT_EQ(Parsed({"--version", "raw"}), "version=true raw ");
  EXPECT_EQ(Parsed({"--etcd_servers=a"}), "etcd-servers=a ");
  EXPECT_EQ(Parsed({"-v=2", "-v", "3", "-v4"}), "v=2 v=3 v=4 ");
  EXPECT_EQ(Parsed({"--secure-port=1", "--", "--secure-port=2"}), "secure-port=1 --secure-port=2 ");
  EXPECT_EQ(Parsed({"--help"}), "help ");
  EXPECT_EQ(Parsed({"-h"}), "help ");
  EXPECT_EQ(Parsed({"--etcd-servers="}), "etcd-servers= ");
}

TEST(FlagParserTest, RefusesInPflagsWords) {
  EXPECT_EQ(Parsed({"--insecure-port=0"}), "unknown flag: --insecure-port");
  EXPECT_EQ(Parsed({"-x"}), "unknown shorthand flag: 'x' in -x");
  EXPECT_EQ(Parsed({"--secure-port"}), "flag needs an argument: --secure-port");
  EXPECT_EQ(Parsed({"-v"}), "flag needs an argument: 'v' in -v");
  EXPECT_EQ(Parsed({"--=x"}), "bad flag syntax: --=x");
  EXPECT_EQ(
      Parsed({"--secure-port=x"}),
      "invalid argument \"x\" for \"--secure-port\" flag: strconv.ParseInt: parsing \"x\": invalid syntax");
  EXPECT_EQ(Parsed({"--secure-port=99999999999999999999"}),
            "invalid argument \"99999999999999999999\" for \"--secure-port\" flag: strconv.ParseInt: parsing "
            "\"99999999999999999999\": value out of range");
  EXPECT_EQ(
      Parsed({"--profiling=maybe"}),
      "invalid argument \"maybe\" for \"--profiling\" flag: strconv.ParseBool: parsing \"maybe\": invalid "
      "syntax");
  EXPECT_EQ(Parsed({"--event-ttl=soon"}),
            "invalid argument \"soon\" for \"--event-ttl\" flag: time: invalid duration \"soon\"");
  EXPECT_EQ(Parsed({"--goaway-chance=x"}),
            "invalid argument \"x\" for \"--goaway-chance\" flag: strconv.ParseFloat: parsing \"x\": invalid "
            "syntax");
}

TEST(FlagParserTest, ParsesAsGosFlagPackageDoes) {
  EXPECT_EQ(Parsed({"-data-dir", "d", "--unsafe-no-fsync"}, FlagStyle::kGo),
            "data-dir=d unsafe-no-fsync=true ");
  EXPECT_EQ(Parsed({"gateway", "-data-dir", "d"}, FlagStyle::kGo), "gateway -data-dir d ");
  EXPECT_EQ(Parsed({"--insecure-port=0"}, FlagStyle::kGo), "flag provided but not defined: -insecure-port");
  EXPECT_EQ(Parsed({"--data_dir=x"}, FlagStyle::kGo), "flag provided but not defined: -data_dir");
  EXPECT_EQ(Parsed({"--data-dir"}, FlagStyle::kGo), "flag needs an argument: -data-dir");
  EXPECT_EQ(Parsed({"--max-snapshots=x"}, FlagStyle::kGo),
            "invalid value \"x\" for flag -max-snapshots: parse error");
  EXPECT_EQ(Parsed({"--unsafe-no-fsync=x"}, FlagStyle::kGo),
            "invalid boolean value \"x\" for -unsafe-no-fsync: parse error");
}

TEST(FlagParserTest, TablesNameEachFlagOnce) {
  for (const auto flags : {KubeApiserverFlags(), EtcdFlags()}) {
    std::set<std::string_view> names;
    for (const ForeignFlag& flag : flags) EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
  }
}

}  // namespace
}  // namespace flyball::cli
