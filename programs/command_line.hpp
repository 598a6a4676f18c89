// SPDX-License-Identifier: BSD-3-Clause
// The command line of a program: options, checks of their values, help, and the answer to a mistake. CLI11 does the
// work in command_line.cpp, which alone includes it: it takes seconds to compile.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft {

/// What a program says in place of its work: help, a version, or what is wrong with its command line.
struct command_answer {
  int exit_code = 0;    ///< 0 after help or a version, 2 after a mistake
  std::string text;     ///< for people: help, or the mistake and where to find help
  std::string mistake;  ///< the mistake alone; empty after help or a version
};

/// A mistake that only all options together show. `option` is the one to change.
class command_mistake : public std::runtime_error {
 public:
  command_mistake(const std::string& option, const std::string& why) : std::runtime_error{option + ": " + why} {}
};

/// One option of a command line, as long as that lives. Each function returns the option itself.
class command_option {
 public:
  explicit command_option(CLI::Option* option) : option_{option} {}

  const command_option& required() const;
  /// Values are separated by commas, too.
  const command_option& with_commas() const;
  /// From `min` to `max` values.
  const command_option& values(int min, int max) const;
  const command_option& needs(const command_option& other) const;
  const command_option& excludes(const command_option& other) const;
  /// Help shows this default value.
  const command_option& with_default(const std::string& text) const;
  /// Help shows this text in place of the kind of value.
  const command_option& shown_as(const std::string& text) const;
  /// Whether the command line has it; known after `command_parser::parse`.
  [[nodiscard]] bool is_given() const;

 private:
  CLI::Option* option_;
};

/// Why a value is refused; empty where it is right.
using value_check = std::function<std::string(const std::string&)>;
/// The same of all values of a list.
using values_check = std::function<std::string(const std::vector<std::string>&)>;

/// The text of a number in help.
template <class Number>
[[nodiscard]] std::string number_text(Number number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

/// A command line, or a subcommand's part of it. Options write into variables of the program, which outlive it.
class command_parser {
 public:
  /// `--version` answers with `version`.
  command_parser(const std::string& description, const std::string& program, const std::string& version);
  ~command_parser();
  command_parser(const command_parser&) = delete;
  command_parser& operator=(const command_parser&) = delete;

  /// A decimal number from `min` to `max` and nothing else: no sign and no space before it, no nan.
  template <class Number>
  command_option add_number(const std::string& names, Number& out, std::type_identity_t<Number> min,
                            std::type_identity_t<Number> max, const std::string& help) {
    const auto set = [&out, min, max](const std::string& text) { return read_number(text, out, min, max); };
    return add_value(names, set, kind_of_number(min, max), help);
  }
  template <class Number>
  command_option add_number(const std::string& names, std::optional<Number>& out, std::type_identity_t<Number> min,
                            std::type_identity_t<Number> max, const std::string& help) {
    const auto set = [&out, min, max](const std::string& text) { return read_number(text, out.emplace(), min, max); };
    return add_value(names, set, kind_of_number(min, max), help);
  }
  /// Several numbers, with commas or in words of their own.
  template <class Number>
  command_option add_numbers(const std::string& names, std::vector<Number>& out, std::type_identity_t<Number> min,
                             std::type_identity_t<Number> max, const std::string& help) {
    const auto set = [&out, min, max](const std::vector<std::string>& texts) {
      out.clear();
      std::string why;
      for (const std::string& text : texts) {
        if (why.empty()) why = read_number(text, out.emplace_back(), min, max);
      }
      return why;
    };
    return add_values(names, set, kind_of_number(min, max), help).with_commas();
  }
  command_option add_text(const std::string& names, std::string& out, const std::string& help, value_check check = {});
  command_option add_texts(const std::string& names, std::vector<std::string>& out, const std::string& help,
                           value_check check = {});
  /// An option that may be repeated, with one value each time.
  command_option add_repeated(const std::string& names, std::vector<std::string>& out, const std::string& help,
                              value_check check = {});
  command_option add_flag(const std::string& names, bool& out, const std::string& help);
  /// A flag that may have a value, as in `--name=value`; `out` is `text` where it has none.
  command_option add_flag_with_value(const std::string& name, const std::string& text, std::string& out,
                                     const std::string& help);
  /// One of a few values that have names.
  template <class Out, class Value>
  command_option add_choice(const std::string& names, Out& out, const std::map<std::string, Value>& choices,
                            const std::string& help) {
    const auto set = [&out, &choices](const std::string& text) {
      const auto found = choices.find(text);
      if (found == choices.end()) return refused_choice(text, names_of(choices));
      out = found->second;
      return std::string{};
    };
    return add_value(names, set, kind_of_choice(names_of(choices)), help);
  }
  template <class Value>
  command_option add_choices(const std::string& names, std::vector<Value>& out,
                             const std::map<std::string, Value>& choices, const std::string& help) {
    const auto set = [&out, &choices](const std::vector<std::string>& texts) {
      out.clear();
      for (const std::string& text : texts) {
        const auto found = choices.find(text);
        if (found == choices.end()) return refused_choice(text, names_of(choices));
        out.push_back(found->second);
      }
      return std::string{};
    };
    return add_values(names, set, kind_of_choice(names_of(choices)), help).with_commas();
  }

  /// A subcommand, one of which is needed; help does not list one without a description.
  command_parser& add_subcommand(const std::string& name, const std::string& description);
  /// The subcommand that the command line names.
  [[nodiscard]] std::string chosen_subcommand() const;

  void set_usage(const std::string& text);
  void set_footer(const std::string& text);
  /// Options end at the first word that is none; that and the words behind it are `rest()`.
  void allow_rest();
  [[nodiscard]] std::vector<std::string> rest() const;

  /// Reads the words and sets the variables. **Returns** the answer where the program has to end now: help or a version
  /// was asked for, or a word is wrong.
  [[nodiscard]] std::optional<command_answer> parse(int argc, const char* const* argv);
  /// The answer to a mistake that the program has found.
  [[nodiscard]] command_answer refuse(const command_mistake& mistake) const;

 private:
  explicit command_parser(CLI::App& part);

  command_option add_value(const std::string& names, const value_check& set, const std::string& kind,
                           const std::string& help);
  command_option add_values(const std::string& names, const values_check& set, const std::string& kind,
                            const std::string& help);

  template <class Number>
  [[nodiscard]] static std::string bounds_of(Number min, Number max) {
    return number_text(min) + " to " + number_text(max);
  }
  template <class Number>
  [[nodiscard]] static std::string kind_of_number(Number min, Number max) {
    return (std::is_integral_v<Number> ? "INT from " : "FLOAT from ") + bounds_of(min, max);
  }
  template <class Number>
  [[nodiscard]] static std::string read_number(const std::string& text, Number& out, Number min, Number max) {
    Number value{};
    const char* const last = text.data() + text.size();
    const auto [end, problem] = std::from_chars(text.data(), last, value);
    if (end != last || problem == std::errc::invalid_argument) {
      const char* const kind = std::is_integral_v<Number> ? "whole number" : "number";
      return "'" + text + "' is no " + kind + " from " + bounds_of(min, max);
    }
    if (problem != std::errc{} || !(value >= min && value <= max)) {
      return "'" + text + "' is not from " + bounds_of(min, max);
    }
    out = value;
    return {};
  }
  template <class Value>
  [[nodiscard]] static std::vector<std::string> names_of(const std::map<std::string, Value>& choices) {
    std::vector<std::string> out;
    for (const auto& [name, value] : choices) out.push_back(name);
    return out;
  }
  [[nodiscard]] static std::string kind_of_choice(const std::vector<std::string>& names);
  [[nodiscard]] static std::string refused_choice(const std::string& text, const std::vector<std::string>& names);

  std::unique_ptr<CLI::App> own_;  // empty in a subcommand
  CLI::App* app_;
  std::vector<std::unique_ptr<command_parser>> subcommands_;
};

/// A check of a name of a file, which an unset variable of a shell is not.
[[nodiscard]] std::string check_not_empty(const std::string& text);

}  // namespace weft
