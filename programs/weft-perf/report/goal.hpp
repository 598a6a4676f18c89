// SPDX-License-Identifier: BSD-3-Clause
// How far Weft is to be ahead of its peers, and how far it is.
#pragma once

#include <string>

#include "weft-perf/report/rounds.hpp"

namespace weft::perf {

struct goal {
  double ratio = 0;        ///< to the best peer that is aimed at; 0: none is
  double messages = 0;     ///< of Weft's between two ranks, in whose time it is to be done; 0: in any time
  summary paired{};        ///< the ratio to the best peer, round by round; no rounds: there was none
  double in_messages = 0;  ///< in the time of how many messages it was done; 0: no message was measured
  std::string beside{};    ///< of MPI: Weft's other side that it is held against; empty: none is
  double times = 0;        ///< that it may take at most of that side's time; 0: as many as it takes
  summary taken{};         ///< that it took, round by round; no rounds: not measured
};

}  // namespace weft::perf
