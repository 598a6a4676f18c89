// The algorithms, each in the file with its name.
#pragma once

#include "coll/shape.hpp"

namespace weft::coll {

class schedule;

void binomial_broadcast(schedule& out, const shape& of);

void linear_gather(schedule& out, const shape& of);
void binomial_gather(schedule& out, const shape& of);
void linear_scatter(schedule& out, const shape& of);
void binomial_scatter(schedule& out, const shape& of);

}  // namespace weft::coll
