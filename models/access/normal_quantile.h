#pragma once

namespace shardsim {

// The z of a normal distribution that a share lies below, 0 < share < 1, to rounding: the same on every machine whose
// exp, log and erfc are correct to the last places.
double normal_quantile(double share);

// The z whose upper tail is x, 0 < x <= 1/2, without the loss of digits that 1 - x would bring.
double upper_quantile(double x);

// The part above z, and the density there.
double upper_tail(double z);
double normal_density(double z);

}  // namespace shardsim
