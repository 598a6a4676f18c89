// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/hosts.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <strings.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>

namespace weft::run {
namespace {

constexpr std::string_view blanks = " \t\r";

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t out = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// `name`, `name:4`, `[::1]:4`; an address of IPv6 without brackets has colons of its own.
named_host read_host(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  named_host out{std::string{text}};
  if (colon == text.npos) return out;
  const bool has_slots = text.find(':') == colon || text[colon - 1] == ']';
  const auto slots = number_in(text.substr(colon + 1));
  if (!has_slots || !slots) return out;
  return {std::string{text.substr(0, colon)}, *slots};
}

std::vector<std::string_view> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(separators);
    if (begin == text.npos) return out;
    text.remove_prefix(begin);
    out.push_back(text.substr(0, text.find_first_of(separators)));
    text.remove_prefix(out.back().size());
  }
}

bool is_same_name(std::string_view name, std::string_view other) {
  return name.size() == other.size() && ::strncasecmp(name.data(), other.data(), name.size()) == 0;
}

std::string without_brackets(const std::string& text) {
  const bool has_brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
  return has_brackets ? text.substr(1, text.size() - 2) : text;
}

bool is_address_of_an_interface(const std::string& text) {
  in_addr four{};
  in6_addr six{};
  const bool is_four = ::inet_pton(AF_INET, text.c_str(), &four) == 1;
  if (!is_four && ::inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  if (is_four && (ntohl(four.s_addr) >> 24) == 127) return true;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> keeper{list, &::freeifaddrs};
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    if (is_four && each->ifa_addr->sa_family == AF_INET) {
      sockaddr_in mine{};
      std::memcpy(&mine, each->ifa_addr, sizeof mine);
      if (mine.sin_addr.s_addr == four.s_addr) return true;
    } else if (!is_four && each->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 mine{};
      std::memcpy(&mine, each->ifa_addr, sizeof mine);
      if (std::memcmp(&mine.sin6_addr, &six, sizeof six) == 0) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<named_host> read_hosts(std::string_view list) {
  std::vector<named_host> out;
  for (const std::string_view each : words_of(list, ", \t")) out.push_back(read_host(each));
  return out;
}

std::optional<std::vector<named_host>> read_host_file(const std::string& path) {
  std::ifstream file{path};
  if (!file) return std::nullopt;
  std::vector<named_host> out;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string_view> words = words_of(std::string_view{line}.substr(0, line.find('#')), blanks);
    if (words.empty()) continue;
    out.push_back(read_host(words.front()));
    for (const std::string_view word : words) {
      constexpr std::string_view slots = "slots=";
      if (word.starts_with(slots)) out.back().slots = number_in(word.substr(slots.size())).value_or(1);
    }
  }
  return out;
}

bool is_this_machine(const std::string& name) {
  const std::string host = without_brackets(name);
  if (is_same_name(host, "localhost") || is_same_name(host, "localhost.localdomain")) return true;
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) == 0) {
    const std::string_view own{text.data()};
    // With or without the domain, on whichever side it stands.
    const std::string_view own_label = own.substr(0, own.find('.'));
    const std::string_view label = std::string_view{host}.substr(0, host.find('.'));
    const bool has_both_domains = own.size() != own_label.size() && host.size() != label.size();
    if (is_same_name(host, own) || (!has_both_domains && is_same_name(label, own_label))) return true;
  }
  return is_address_of_an_interface(host);
}

}  // namespace weft::run
