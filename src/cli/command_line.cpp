// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/nearest.hpp"
#include "codegen/codegen.hpp"

namespace vyre::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 mismatch or race, 2 usage, 3 program invalid, 4 no such device,\n"
    "5 compilation failed, 6 device lost, 7 out of memory, 8 timeout or limit, 9 internal bug,\n"
    "10 trapped or out of bounds, 11 bad data or a file that cannot be read or written,\n"
    "130 interrupted. docs/cli.md has the details.";

class CommandLine {
 public:
  CommandLine() {
    root_.name("vyre");
    root_.get_formatter()->label("SUBCOMMAND", "COMMAND");
    root_.get_formatter()->column_width(34);
    root_.require_subcommand(1);
    root_.footer(kFooter);
    add_shared(root_);
    root_.set_version_flag("--version", "", "The version of this tool");
    add_run();
    add_profile();
    add_tune();
    add_check();
    add_fmt();
    add_print();
    add_plan();
    add_compile();
    add_verify();
    add_cache();
    add_explain();
    add_devices();
    add_lsp();
    add_command("doctor", "A report of this installation, with a self-test of every device",
                [this] { return run_doctor(app_); });
    add_command("version", "Version, commit, compiler", [this] { return run_version(app_); });
    add_completion();
  }

  int run(int argc, const char* const* argv) {
    for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
      if (std::string_view(argv[i]) == "--json") app_.json = true;  // for usage errors too
    if (argc < 2) {
      App::talk(root_.help());
      return kExitUsage;
    }
    try {
      root_.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      app_.put(root_.help());
      return app_.finish(kExitOk);
    } catch (const CLI::CallForVersion&) {
      app_.command = "version";
      return app_.finish(run_version(app_));
    } catch (const CLI::ParseError& error) {
      return app_.finish(usage_error(error));
    }
    app_.command = root_.get_subcommands().front()->get_name();
    app_.color =
        std::map<std::string, ColorMode>{
            {"auto", ColorMode::Auto}, {"always", ColorMode::Always}, {"never", ColorMode::Never}}
            .at(color_);
    return app_.finish(actions_.at(app_.command)());
  }

 private:
  CLI::App& add_command(const char* name, const char* description, std::function<int()> action) {
    CLI::App* command = root_.add_subcommand(name, description);
    command->group("Commands");
    command->footer("");
    add_shared(*command);
    actions_[name] = std::move(action);
    return *command;
  }

  // Options that may stand before and after the command.
  void add_shared(CLI::App& command) {
    command.add_flag("--json", app_.json, "One JSON document on stdout");
    choose(command.add_option("--color", color_, "Colour on stderr (default auto)"),
           {"auto", "always", "never"});
  }

  // One of a few words. The type name is what help shows and what completion offers.
  static void choose(CLI::Option* option, std::vector<std::string> words) {
    option->type_name(fmt::format("{}", fmt::join(words, "|")));
    option->check([words = std::move(words)](const std::string& value) {
      for (const std::string& word : words)
        if (word == value) return std::string();
      return fmt::format("'{}' is none of {}", value, fmt::join(words, ", "));
    });
  }

  static void add_files(CLI::App& command, std::vector<std::string>& files,
                        const char* description) {
    command.add_option("FILE", files, description)->required()->type_name("");
  }

  void add_check() {
    CLI::App& command = add_command("check", "Report everything that is wrong with a program",
                                    [this] { return run_check(app_, check_); });
    add_files(command, check_.files, "Programs, text or bytes; - is stdin");
    command.add_option("--sarif", check_.sarif, "Write a SARIF 2.1.0 log; - is stdout")
        ->type_name("FILE");
    command.add_flag("--warnings-as-errors", check_.warnings_as_errors, "Exit 3 on warnings too");
    command.add_flag("--bounds", check_.bounds,
                     "List the accesses: proved to be in bounds, or tested and why");
    command.add_flag("--races", check_.races, "Run it under several schedules; report data races");
    add_dispatch(command, check_.dispatch);
  }

  void add_run() {
    CLI::App& command = add_command("run", "Run a program", [this] { return run_run(app_, run_); });
    command.add_option("FILE", run_.dispatch.file, "A program, text or bytes; - is stdin")
        ->required()
        ->type_name("");
    add_dispatch(command, run_.dispatch);
    each(command.add_option("--out", run_.out,
                            "Write an output to a file (.npy .bin .csv .png) or - (stdout)"),
         "NAME=FILE");
    each(command.add_option("--shape", run_.shape, "Rows and columns of an output"), "NAME=H,W");
    command.add_option("--device", run_.device, "Where to run (default auto)")->type_name("ID");
    command
        .add_option("--fixpoint", run_.iterations,
                    "Repeat the whole program until nothing changes, at most N times")
        ->type_name("N");
    command.add_flag("--checked", run_.checked, "An access out of bounds is an error");
    command.add_flag("--print", run_.print, "Write the lines of print() to stderr");
    add_run_watching(command);
    choose(command.add_option("--tune", run_.tune,
                              "Strategies that were measured: unused, used, or also searched for "
                              "(default read)"),
           {"off", "read", "on"});
    add_code(command, run_.code);
    choose(command.add_option("--schedule", run_.schedule,
                              "Order of lanes on device reference (default forward)"),
           {"forward", "reversed", "random"});
    command
        .add_option("--subgroup-size", run_.subgroup_size,
                    "Lanes of a subgroup on device reference: 1, 4, 8, 16 or 32 (default)")
        ->type_name("N");
  }

  void add_profile() {
    CLI::App& command = add_command(
        "profile", "Show where the time of a program goes, by segment, region, fixpoint",
        [this] { return run_profile(app_, profile_); });
    command.add_option("FILE", profile_.dispatch.file, "A program, text or bytes; - is stdin")
        ->required()
        ->type_name("");
    add_dispatch(command, profile_.dispatch);
    command.add_option("--device", profile_.device, "Where to run (default auto)")->type_name("ID");
    command
        .add_option("--fixpoint", profile_.iterations,
                    "Repeat the whole program until nothing changes, at most N times")
        ->type_name("N");
    command.add_flag("--checked", profile_.checked, "For checked mode");
    command.add_option("--repeat", profile_.repeat, "Run it N times (default 5)")->type_name("N");
    add_read_tuning(command, profile_.tune);
    add_code(command, profile_.code);
    command.add_flag("--no-cache", profile_.no_cache, "Compiled code is not kept on disk");
    add_untrusted(command, profile_.dispatch);
    choose(command.add_option("--as", profile_.as, "The form (default text)"),
           {"text", "json", "html"});
    command.add_option("-o,--output", profile_.output, "Where to; - is stdout (the default)")
        ->type_name("FILE");
  }

  void add_tune() {
    CLI::App& command = add_command("tune", "Find the fastest strategy of a program by measuring",
                                    [this] { return run_tune(app_, tune_); });
    command.add_option("FILE", tune_.dispatch.file, "A program, text or bytes; - is stdin")
        ->required()
        ->type_name("");
    add_dispatch(command, tune_.dispatch);
    command.add_option("--device", tune_.device, "Where to measure (default auto)")
        ->type_name("ID");
    command
        .add_option("--fixpoint", tune_.iterations,
                    "Repeat the whole program until nothing changes, at most N times")
        ->type_name("N");
    command.add_flag("--checked", tune_.checked, "For checked mode");
    add_code(command, tune_.code);
    command.add_option("--budget", tune_.budget, "Seconds for all measurements (default 30)")
        ->type_name("S");
  }

  // For commands that show what run does.
  static void add_read_tuning(CLI::App& command, std::string& tune) {
    choose(command.add_option("--tune", tune,
                              "Strategies that were measured: unused or used (default read)"),
           {"off", "read"});
  }

  void add_run_watching(CLI::App& command) {
    command.add_flag("--no-fallback", run_.no_fallback, "With auto: a GPU or nothing");
    command.add_option("--repeat", run_.repeat, "Run it N times; the last results count")
        ->type_name("N");
    command.add_flag("--time", run_.time, "Times and launches, on stderr");
    command.add_option("--trace", run_.trace, "Write a trace that opens in Perfetto")
        ->type_name("FILE");
    command
        .add_option("--metrics", run_.metrics,
                    "Write the counters of the device (.json, else Prometheus) or - (stdout)")
        ->type_name("FILE");
    command.add_flag("--no-cache", run_.no_cache, "Compiled code is not kept on disk");
    add_untrusted(command, run_.dispatch);
  }

  // What every command that runs a program takes.
  static void add_dispatch(CLI::App& command, DispatchOptions& options) {
    add_inputs(command, options);
    add_timeout(command, options);
  }
  static void add_timeout(CLI::App& command, DispatchOptions& options) {
    command.add_option("--timeout", options.timeout, "Seconds; 0 is no limit (default 60)")
        ->type_name("S");
  }
  static void add_untrusted(CLI::App& command, DispatchOptions& options) {
    command.add_flag("--untrusted", options.untrusted,
                     "Tighter limits, for programs of people you do not trust");
  }
  static void add_code(CLI::App& command, CodeOptions& options) {
    command
        .add_option("--ulp-budget", options.ulp_budget,
                    "Maths functions may be approximations within K ULP (default 0: strict)")
        ->type_name("K");
    choose(command.add_option("--profile", options.profile,
                              "What code is made for: to run fast, or to be there soon "
                              "(default throughput)"),
           {"throughput", "latency"});
  }
  // What says how large a dispatch is.
  static void add_inputs(CLI::App& command, DispatchOptions& options) {
    each(command.add_option("--in", options.in,
                            "An input: a file, [1,2,3], zeros(n), iota(n), random(n,lo,hi), @-"),
         "NAME=VALUE");
    add_set(command, options.set);
    command.add_option("--grid", options.grid, "Workgroups")->type_name("X[,Y[,Z]]");
    command.add_option("--workgroup", options.workgroup, "Another workgroup size")
        ->type_name("X[,Y[,Z]]");
    command.add_option("--seed", options.seed, "Of random inputs and schedules (default 0)")
        ->type_name("N");
  }
  static void add_set(CLI::App& command, std::vector<std::string>& set) {
    each(command.add_option("--set", set, "A static parameter or a constant of the program"),
         "NAME=VALUE");
  }
  // An option that is repeated for each value; CLI11 would take [1,2] for two of them.
  static void each(CLI::Option* option, const char* type) {
    option->type_name(type)->type_size(1)->allow_extra_args(false)->delimiter('\0');
  }

  void add_fmt() {
    CLI::App& command = add_command("fmt", "Lay out program texts canonically, comments kept",
                                    [this] { return run_fmt(app_, fmt_); });
    add_files(command, fmt_.files, "Program texts; - is stdin");
    CLI::Option* write =
        command.add_flag("--write", fmt_.write, "Replace the files; list those that changed");
    command.add_flag("--check", fmt_.check, "Write nothing; list files that would change, exit 1")
        ->excludes(write);
  }

  void add_print() {
    CLI::App& command = add_command("print", "Print a program in another form",
                                    [this] { return run_print(app_, print_); });
    command.add_option("FILE", print_.file, "A program, text or bytes; - is stdin")
        ->required()
        ->type_name("");
    add_set(command, print_.set);
    choose(command.add_option("--as", print_.as, "The form (default text)"),
           {"text", "bytes", "json"});
    command.add_option("-o,--output", print_.output, "Where to; - is stdout (the default)")
        ->type_name("FILE");
  }

  void add_plan() {
    CLI::App& command = add_command("plan", "Show how a program runs through its grid barriers",
                                    [this] { return run_plan(app_, plan_); });
    command.add_option("FILE", plan_.dispatch.file, "A program, text or bytes; - is stdin")
        ->required()
        ->type_name("");
    add_inputs(command, plan_.dispatch);
    add_timeout(command, plan_.dispatch);
    choose(command.add_option("--route", plan_.route, "This route (default: chosen)"),
           {"native", "persistent", "resident", "host"});
    command
        .add_option("--resident", plan_.resident,
                    "For a device with a grid barrier that keeps N workgroups at once")
        ->type_name("N");
    command.add_option("--device", plan_.device, "For this device")->type_name("ID");
    command.add_flag("--checked", plan_.checked, "For checked mode");
    command.add_flag("--print", plan_.print, "With print()");
    add_read_tuning(command, plan_.tune);
    add_code(command, plan_.code);
    command.add_flag("--segments", plan_.segments, "Also the programs of the segments (text)");
    command
        .add_option("--dump-after", plan_.dump_after,
                    "The program after this pass of the planner, or after all of them")
        ->type_name("PASS");
    choose(command.add_option("--as", plan_.as, "The form (default text)"),
           {"text", "dot", "svg", "html"});
    command.add_option("-o,--output", plan_.output, "Where to; - is stdout (the default)")
        ->type_name("FILE");
  }

  void add_compile() {
    CLI::App& command = add_command("compile", "Show the code that a device gets",
                                    [this] { return run_compile(app_, compile_); });
    command.add_option("FILE", compile_.dispatch.file, "A program, text or bytes; - is stdin")
        ->required()
        ->type_name("");
    command.add_option("--device", compile_.device, "For this device")->type_name("ID");
    command
        .add_option("--arch", compile_.architecture,
                    "For GPUs of this architecture instead, which need not be in this machine")
        ->type_name("sm_NN");
    choose(command.add_option("--emit", compile_.emit, "The form")->required(),
           codegen::listing_names());
    add_inputs(command, compile_.dispatch);
    choose(command.add_option("--route", compile_.route, "This route (default: chosen)"),
           {"native", "persistent", "resident", "host"});
    command.add_flag("--checked", compile_.checked, "For checked mode");
    command.add_flag("--print", compile_.print, "With print()");
    add_read_tuning(command, compile_.tune);
    add_code(command, compile_.code);
    add_timeout(command, compile_.dispatch);
    add_untrusted(command, compile_.dispatch);
    command.add_option("-o,--output", compile_.output, "Where to; - is stdout (the default)")
        ->type_name("FILE");
  }

  void add_verify() {
    CLI::App& command =
        add_command("verify", "Compare what devices compute with the reference interpreter",
                    [this] { return run_verify(app_, verify_); });
    command.add_option("FILE", verify_.dispatch.file, "A program, text or bytes; - is stdin")
        ->required()
        ->type_name("");
    add_dispatch(command, verify_.dispatch);
    command
        .add_option("--device", verify_.devices,
                    "These devices, separated by commas (default: all usable)")
        ->type_name("ID");
    command
        .add_option("--fixpoint", verify_.iterations,
                    "Repeat the whole program until nothing changes, at most N times")
        ->type_name("N");
    command.add_flag("--checked", verify_.checked, "An access out of bounds is an error");
    add_untrusted(command, verify_.dispatch);
  }

  void add_cache() {
    CLI::App& command = add_command("cache", "Look after the compiled code that is kept on disk",
                                    [this] { return run_cache(app_, cache_); });
    choose(command.add_option("ACTION", cache_.action, "What to do")->required(),
           {"stat", "verify", "gc", "clear", "why"});
    command.add_option("FILE", cache_.file, "why: the program in question")->type_name("");
    command.add_option("--device", cache_.device, "why: on this device (default auto)")
        ->type_name("ID");
    command.add_option("--workgroup", cache_.workgroup, "why: with this workgroup size")
        ->type_name("X[,Y[,Z]]");
    command.add_flag("--checked", cache_.checked, "why: in checked mode");
    add_code(command, cache_.code);
    command.add_flag("--print", cache_.print, "why: with print()");
    command.add_option("--dir", cache_.directory, "Another directory than the one that is used")
        ->type_name("D");
    command.add_option("--max-bytes", cache_.max_bytes, "What gc leaves (default 1073741824)")
        ->type_name("N");
  }

  void add_explain() {
    CLI::App& command = add_command("explain", "Explain a diagnostic, or list all of them",
                                    [this] { return run_explain(app_, explain_); });
    command.add_option("CODE", explain_.code, "V070, 70 or BarrierNotUniform")->type_name("");
  }

  void add_devices() {
    CLI::App& command = add_command("devices", "List the devices and what they can do",
                                    [this] { return run_devices(app_, devices_); });
    command.add_option("ID", devices_.id, "Of one backend or device: cuda, cuda:1")->type_name("");
  }

  void add_lsp() {
    CLI::App& command = add_command("lsp", "A language server for editors, on stdin and stdout",
                                    [this] { return run_lsp(app_); });
    command.add_flag("--stdio", stdio_, "Over stdin and stdout, which is all there is");
  }

  void add_completion() {
    CLI::App& command = add_command("completion", "A completion script for a shell",
                                    [this] { return run_completion(app_, completion_, root_); });
    choose(command.add_option("SHELL", completion_.shell, "The shell")->required(),
           {"bash", "zsh", "fish"});
  }

  int usage_error(const CLI::ParseError& error) {
    const std::vector<CLI::App*> chosen = root_.get_subcommands();
    if (!chosen.empty()) app_.command = chosen.front()->get_name();
    const std::vector<std::string> rest = root_.remaining(true);
    if (chosen.empty() && !rest.empty() && !rest.front().starts_with('-'))
      return app_.fail(unknown_command(rest.front()));
    const CLI::App& command = chosen.empty() ? root_ : *chosen.front();
    const std::string help = fmt::format("`vyre{}{} --help` shows the usage",
                                         app_.command.empty() ? "" : " ", app_.command);
    if (!rest.empty()) return app_.fail(unexpected(rest.front(), command, help));
    if (chosen.empty() && error.get_name() == "RequiredError")
      return app_.fail({kExitUsage, "a command is missing", help});
    return app_.fail({kExitUsage, reason(error), help});
  }

  // CLI11 says "Could not convert: --seed = abc".
  static std::string reason(const CLI::ParseError& error) {
    const std::string_view text = error.what();
    constexpr std::string_view kStart = "Could not convert: ";
    const size_t equals = text.find(" = ");
    if (!text.starts_with(kStart) || equals == std::string_view::npos) return std::string(text);
    return fmt::format("{} takes a whole number, not '{}'",
                       text.substr(kStart.size(), equals - kStart.size()), text.substr(equals + 3));
  }

  [[nodiscard]] Failure unknown_command(const std::string& word) const {
    std::vector<std::string> known;
    for (const CLI::App* command : root_.get_subcommands({})) known.push_back(command->get_name());
    Failure failure{kExitUsage, fmt::format("there is no command '{}'", word), ""};
    const std::string meant = nearest(word, known);
    if (!meant.empty()) failure.fix = fmt::format("did you mean `vyre {}`? ", meant);
    failure.fix += "`vyre --help` lists the commands";
    return failure;
  }

  static Failure unexpected(const std::string& word, const CLI::App& command,
                            const std::string& help) {
    Failure failure{kExitUsage, fmt::format("unexpected argument '{}'", word), ""};
    if (word.starts_with('-')) {
      failure.message = fmt::format("unknown option '{}'", word);
      std::vector<std::string> known;
      for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
        for (const std::string& name : option->get_snames()) known.push_back("-" + name);
      }
      const std::string meant = nearest(word.substr(0, word.find('=')), known);
      if (!meant.empty()) failure.fix = fmt::format("did you mean {}? ", meant);
    }
    failure.fix += help;
    return failure;
  }

  CLI::App root_{"One data-parallel program, the same bytes on every device."};
  App app_;
  std::string color_ = "auto";
  bool stdio_ = true;
  RunOptions run_;
  ProfileOptions profile_;
  TuneOptions tune_;
  CheckOptions check_;
  FmtOptions fmt_;
  PrintOptions print_;
  PlanOptions plan_;
  CompileOptions compile_;
  VerifyOptions verify_;
  CacheOptions cache_;
  ExplainOptions explain_;
  DevicesOptions devices_;
  CompletionOptions completion_;
  std::map<std::string, std::function<int()>> actions_;
};

}  // namespace

int run(int argc, const char* const* argv) {
  return CommandLine().run(argc, argv);
}

}  // namespace vyre::cli
