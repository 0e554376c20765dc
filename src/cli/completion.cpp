// SPDX-License-Identifier: Apache-2.0
// Scripts are written from the command tree itself, so that they cannot lag behind it. What an
// option or argument takes is read off the name that help shows: words joined by | are the choices,
// CODE is a diagnostic, ID is a device, PASS is a pass of the planner, a positional FILE is a
// program, any other value is some file.
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/devices.hpp"
#include "cli/plan_dump.hpp"
#include "vyre/base/codes.hpp"

namespace vyre::cli {
namespace {

struct Value {
  enum class Kind : uint8_t { None, Words, Programs, Files };
  Kind kind = Kind::None;
  std::vector<std::string> words;
};

struct OptionInfo {
  std::vector<std::string> names;  // with dashes; empty for a positional argument
  std::string description;
  Value value;
  bool repeats = false;  // a positional that takes the rest
};

struct CommandInfo {
  std::string name;  // empty for the root
  std::string description;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> positionals;
};

std::vector<std::string> all_code_texts() {
  std::vector<std::string> codes;
  for (const CodeInfo& info : all_codes()) codes.emplace_back(text_of(info.code));
  return codes;
}

// The devices that are there when the script is written.
std::vector<std::string> all_device_ids(bool with_auto) {
  std::vector<std::string> ids;
  if (with_auto) ids.emplace_back("auto");
  for (const SeenDevice& seen : see_devices(device::registry(), "")) ids.push_back(seen.facts.id);
  return ids;
}

Value value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  const std::string type = option.get_type_name();
  if (type.find('|') != std::string::npos)
    return {Value::Kind::Words, CLI::detail::split(type, '|')};
  if (!option.nonpositional() && option.get_name() == "CODE")
    return {Value::Kind::Words, all_code_texts()};
  if (option.get_name() == "ID" || type == "ID")
    return {Value::Kind::Words, all_device_ids(option.nonpositional())};
  if (type == "PASS") return {Value::Kind::Words, pass_names()};
  if (!option.nonpositional()) return {Value::Kind::Programs, {}};
  return {Value::Kind::Files, {}};
}

CommandInfo info_of(const CLI::App& command) {
  CommandInfo info{command.get_name(), command.get_description(), {}, {}};
  for (const CLI::Option* option : command.get_options()) {
    OptionInfo entry{{}, option->get_description(), value_of(*option), false};
    for (const std::string& name : option->get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) entry.names.push_back("--" + name);
    entry.repeats = option->get_expected_max() > 1;
    (option->nonpositional() ? info.options : info.positionals).push_back(std::move(entry));
  }
  return info;
}

struct Tree {
  CommandInfo root;
  std::vector<CommandInfo> commands;
};

Tree tree_of(const CLI::App& root) {
  Tree tree{info_of(root), {}};
  tree.root.name.clear();
  for (const CLI::App* command : root.get_subcommands({}))
    tree.commands.push_back(info_of(*command));
  return tree;
}

// The word in single quotes, for all three shells.
std::string in_quotes(std::string_view text, std::string_view quote_inside = "'\\''") {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += quote_inside;
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::vector<std::string> option_names(const CommandInfo& command) {
  std::vector<std::string> names;
  for (const OptionInfo& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// ---- bash

std::string bash_reply(const Value& value) {
  switch (value.kind) {
    case Value::Kind::None: return ":";
    case Value::Kind::Words:
      return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))",
                         fmt::join(value.words, " "));
    case Value::Kind::Programs: return "_vyre_files '!*.vyre'";
    case Value::Kind::Files: return "_vyre_files ''";
  }
  return ":";
}

std::string bash_script(const Tree& tree) {
  std::vector<std::string> names;
  for (const CommandInfo& command : tree.commands) names.push_back(command.name);

  std::string values;
  std::string options;
  std::string positionals;
  const auto add = [&](const CommandInfo& command) {
    for (const OptionInfo& option : command.options) {
      if (option.value.kind == Value::Kind::None) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(command.name + ":" + name);
      values += fmt::format("    {})\n      {}\n      return\n      ;;\n", fmt::join(patterns, "|"),
                            bash_reply(option.value));
    }
    // A second argument comes after a word of the first.
    if (command.positionals.size() > 1)
      for (const std::string& word : command.positionals[0].value.words)
        values += fmt::format("    {}:{})\n      {}\n      return\n      ;;\n", command.name, word,
                              bash_reply(command.positionals[1].value));
    const std::string pattern = command.name.empty() ? "''" : command.name;
    options +=
        fmt::format("      {}) words='{}' ;;\n", pattern, fmt::join(option_names(command), " "));
    if (!command.positionals.empty())
      positionals +=
          fmt::format("    {}) {} ;;\n", pattern, bash_reply(command.positionals.front().value));
  };
  add(tree.root);
  for (const CommandInfo& command : tree.commands) add(command);

  std::string script = R"(# bash completion for vyre: source <(vyre completion bash)

_vyre_files() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -X "$1" -- "$current") $(compgen -d -- "$current"))
}

_vyre() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command='' words='' i
  COMPREPLY=()
  # bash splits --as=text at the equals sign
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      @NAMES@) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  case $command:$previous in
@VALUES@  esac
  if [[ $current == -* ]]; then
    case $command in
@OPTIONS@    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case $command in
    '') COMPREPLY=($(compgen -W '@COMMANDS@' -- "$current")) ;;
@POSITIONALS@  esac
}

complete -F _vyre vyre
)";
  const auto fill = [&](std::string_view mark, const std::string& text) {
    script.replace(script.find(mark), mark.size(), text);
  };
  fill("@NAMES@", fmt::format("{}", fmt::join(names, "|")));
  fill("@VALUES@", values);
  fill("@OPTIONS@", options);
  fill("@COMMANDS@", fmt::format("{}", fmt::join(names, " ")));
  fill("@POSITIONALS@", positionals);
  return script;
}

// ---- zsh

std::string zsh_action(const Value& value) {
  switch (value.kind) {
    case Value::Kind::None: return "";
    case Value::Kind::Words: return fmt::format("({})", fmt::join(value.words, " "));
    case Value::Kind::Programs: return "_files -g \"*.vyre\"";
    case Value::Kind::Files: return "_files";
  }
  return "";
}

// Square brackets and colons have a meaning in the specs of _arguments.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_arguments(const CommandInfo& command) {
  std::string lines;
  for (const OptionInfo& option : command.options) {
    for (const std::string& name : option.names) {
      const bool takes_value = option.value.kind != Value::Kind::None;
      const bool is_long = name.starts_with("--");
      std::string spec = name;
      if (takes_value) spec += is_long ? "=" : "+";
      spec += "[" + zsh_text(option.description) + "]";
      if (takes_value) spec += ":value:" + zsh_action(option.value);
      lines += fmt::format(" \\\n        {}", in_quotes(spec));
    }
  }
  for (const OptionInfo& positional : command.positionals) {
    const std::string action = zsh_action(positional.value);
    const std::string spec =
        (positional.repeats ? "*:" : ":") + zsh_text(positional.description) + ":" + action;
    lines += fmt::format(" \\\n        {}", in_quotes(spec));
  }
  return lines;
}

std::string zsh_script(const Tree& tree) {
  std::string script =
      "#compdef vyre\n# zsh completion for vyre: source <(vyre completion zsh)\n\n_vyre() {\n"
      "  local curcontext=$curcontext state line\n  typeset -A opt_args\n"
      "  _arguments -C";
  script += zsh_arguments(tree.root);
  script += " \\\n        '1: :->command' \\\n        '*:: :->arguments'\n";
  script += "  case $state in\n    command)\n      local -a commands=(\n";
  for (const CommandInfo& command : tree.commands)
    script +=
        fmt::format("        {}\n", in_quotes(command.name + ":" + zsh_text(command.description)));
  script += "      )\n      _describe command commands\n      ;;\n";
  script += "    arguments)\n      case $line[1] in\n";
  for (const CommandInfo& command : tree.commands)
    script += fmt::format("        {})\n          _arguments{}\n          ;;\n", command.name,
                          zsh_arguments(command));
  script += "      esac\n      ;;\n  esac\n}\n\n";
  // Autoloaded from $fpath the file is the function; sourced it registers it.
  script +=
      "if [[ $funcstack[1] == _vyre ]]; then\n  _vyre \"$@\"\nelse\n  compdef _vyre vyre\nfi\n";
  return script;
}

// ---- fish

std::string fish_arguments(const Value& value) {
  switch (value.kind) {
    case Value::Kind::None: return "";
    case Value::Kind::Words:
      return " -x -a " + in_quotes(fmt::format("{}", fmt::join(value.words, " ")), "\\'");
    case Value::Kind::Programs: return " -k -a '(__fish_complete_suffix .vyre)'";
    case Value::Kind::Files: return " -r -F";
  }
  return "";
}

std::string fish_script(const Tree& tree) {
  std::string script =
      "# fish completion for vyre: vyre completion fish | source\n\ncomplete -c vyre -f\n";
  const auto add = [&](const CommandInfo& command, const std::string& condition) {
    for (const OptionInfo& option : command.options) {
      script += fmt::format("complete -c vyre -n {}", in_quotes(condition, "\\'"));
      for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        script += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
      }
      script += fish_arguments(option.value) + " -d " + in_quotes(option.description, "\\'") + "\n";
    }
    for (const OptionInfo& positional : command.positionals)
      script += fmt::format("complete -c vyre -n {}{}\n", in_quotes(condition, "\\'"),
                            fish_arguments(positional.value));
  };
  add(tree.root, "__fish_use_subcommand");
  for (const CommandInfo& command : tree.commands) {
    script += fmt::format("complete -c vyre -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          in_quotes(command.description, "\\'"));
    add(command, "__fish_seen_subcommand_from " + command.name);
  }
  return script;
}

}  // namespace

int run_completion(App& app, const CompletionOptions& options, const CLI::App& root) {
  const Tree tree = tree_of(root);
  const std::string script = options.shell == "bash"  ? bash_script(tree)
                             : options.shell == "zsh" ? zsh_script(tree)
                                                      : fish_script(tree);
  if (app.json) {
    Json document = app.document(true);
    document["shell"] = options.shell;
    document["script"] = script;
    app.put_document(document);
  } else {
    app.put(script);
  }
  return kExitOk;
}

}  // namespace vyre::cli
