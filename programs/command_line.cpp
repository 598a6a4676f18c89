// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <sstream>
#include <utility>

namespace weft {

namespace {

constexpr int exit_mistake = 2;

// Help, with the usage that the program gives, if it gives one.
class help_format final : public CLI::Formatter {
 public:
  help_format() = default;
  explicit help_format(std::string usage) : usage_{std::move(usage)} {}
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return usage_.empty() ? CLI::Formatter::make_usage(app, std::move(name)) : usage_;
  }
  // Without the value in braces that a flag has where the user gives none.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string out = CLI::Formatter::make_option_name(option, is_positional);
    return out.substr(0, out.find('{'));
  }

 private:
  std::string usage_;
};

std::string joined(const std::vector<std::string>& names, const char* separator) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : separator) + name;
  return out;
}

command_answer answer_to(const CLI::App& app, const CLI::ParseError& problem) {
  std::ostringstream text;
  const bool is_mistake = app.exit(problem, text, text) != 0;
  return {is_mistake ? exit_mistake : 0, text.str(), is_mistake ? problem.what() : ""};
}

// An option whose value, or list of values, goes to `set`. CLI11 gives it after it has read the whole line.
template <class Value>
CLI::Option* add_option(CLI::App& app, const std::string& names, const std::function<std::string(const Value&)>& set,
                        const std::string& kind, const std::string& help) {
  auto option = std::make_shared<CLI::Option*>();
  const auto read = [set, option](const Value& value) {
    const std::string why = set(value);
    if (!why.empty()) throw CLI::ValidationError{(*option)->get_name(), why};
  };
  *option = app.add_option_function<Value>(names, read, help);
  (*option)->type_name(kind);
  return *option;
}

}  // namespace

const command_option& command_option::required() const {
  option_->required();
  return *this;
}

const command_option& command_option::with_commas() const {
  option_->delimiter(',');
  return *this;
}

const command_option& command_option::values(int min, int max) const {
  option_->expected(min, max);
  return *this;
}

const command_option& command_option::needs(const command_option& other) const {
  option_->needs(other.option_);
  return *this;
}

const command_option& command_option::excludes(const command_option& other) const {
  option_->excludes(other.option_);
  return *this;
}

const command_option& command_option::with_default(const std::string& text) const {
  option_->default_str(text);
  return *this;
}

const command_option& command_option::shown_as(const std::string& text) const {
  option_->option_text(text);
  return *this;
}

bool command_option::is_given() const { return option_->count() != 0; }

command_parser::command_parser(const std::string& description, const std::string& program, const std::string& version)
    : own_{std::make_unique<CLI::App>(description, program)}, app_{own_.get()} {
  app_->set_version_flag("--version", version);
  app_->formatter(std::make_shared<help_format>());
}

command_parser::command_parser(CLI::App& part) : app_{&part} {}

command_parser::~command_parser() = default;

command_option command_parser::add_value(const std::string& names, const value_check& set, const std::string& kind,
                                         const std::string& help) {
  return command_option{add_option(*app_, names, set, kind, help)};
}

command_option command_parser::add_values(const std::string& names, const values_check& set, const std::string& kind,
                                          const std::string& help) {
  return command_option{add_option(*app_, names, set, kind, help)};
}

command_option command_parser::add_text(const std::string& names, std::string& out, const std::string& help,
                                        value_check check) {
  const auto set = [&out, check = std::move(check)](const std::string& text) {
    out = text;
    return check ? check(text) : std::string{};
  };
  return add_value(names, set, "TEXT", help);
}

command_option command_parser::add_texts(const std::string& names, std::vector<std::string>& out,
                                         const std::string& help, value_check check) {
  const auto set = [&out, check = std::move(check)](const std::vector<std::string>& texts) {
    out = texts;
    std::string why;
    for (const std::string& text : texts) {
      if (check && why.empty()) why = check(text);
    }
    return why;
  };
  return add_values(names, set, "TEXT", help);
}

command_option command_parser::add_repeated(const std::string& names, std::vector<std::string>& out,
                                            const std::string& help, value_check check) {
  CLI::Option* const option = app_->add_option(names, out, help)->allow_extra_args(false);
  if (check) option->check(CLI::Validator{[check](std::string& text) { return check(text); }, ""});
  return command_option{option};
}

command_option command_parser::add_flag(const std::string& names, bool& out, const std::string& help) {
  return command_option{app_->add_flag(names, out, help)};
}

command_option command_parser::add_flag_with_value(const std::string& name, const std::string& text, std::string& out,
                                                   const std::string& help) {
  return command_option{app_->add_flag(name + "{" + text + "}", out, help)};
}

command_parser& command_parser::add_subcommand(const std::string& name, const std::string& description) {
  own_->require_subcommand(1);
  CLI::App* const part = own_->add_subcommand(name, description);
  if (description.empty()) part->group("");
  subcommands_.push_back(std::unique_ptr<command_parser>{new command_parser{*part}});
  return *subcommands_.back();
}

std::string command_parser::chosen_subcommand() const { return app_->get_subcommands().front()->get_name(); }

void command_parser::set_usage(const std::string& text) { app_->formatter(std::make_shared<help_format>(text)); }
void command_parser::set_footer(const std::string& text) { app_->footer(text); }
void command_parser::allow_rest() { app_->prefix_command(); }
std::vector<std::string> command_parser::rest() const { return app_->remaining(); }

std::optional<command_answer> command_parser::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& problem) {
    return answer_to(*app_, problem);
  }
}

command_answer command_parser::refuse(const command_mistake& mistake) const {
  return answer_to(*app_, CLI::ParseError{mistake.what(), CLI::ExitCodes::ValidationError});
}

std::string command_parser::kind_of_choice(const std::vector<std::string>& names) {
  return "TEXT:{" + joined(names, ",") + "}";
}

std::string command_parser::refused_choice(const std::string& text, const std::vector<std::string>& names) {
  return "'" + text + "' is none of " + joined(names, ", ");
}

std::string check_not_empty(const std::string& text) { return text.empty() ? "the name is empty" : ""; }

}  // namespace weft
