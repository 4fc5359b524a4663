// The time loop stands in a driver that knows nothing of MPI: an integrator of Runge and Kutta that calls back for each right
// side (four stages a step) and for the error of a step.
//
//     callback [steps]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mpi.h>
#include <vector>

#include "truth.h"

#define NOINLINE __attribute__((noinline))

namespace integrator {

using Vector = std::vector<double>;

struct Callbacks {
    std::function<void(double, const Vector &, Vector &, int)> right_side;
    std::function<double(const Vector &)> norm;
};

NOINLINE double integrate(Vector &state, double dt, int steps, const Callbacks &callbacks)
{
    const double nodes[4] = {0, .5, .5, 1}, weights[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    Vector stage(state.size()), slope(state.size()), sum(state.size());
    double norm = 0;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        std::fill(sum.begin(), sum.end(), 0);
        LOOP("stages");
        for (int s = 0; s < 4; s++) {
            TURN();
            for (size_t i = 0; i < state.size(); i++)
                stage[i] = state[i] + nodes[s] * dt * (s > 0 ? slope[i] : 0);
            callbacks.right_side(dt * (step + nodes[s]), stage, slope, s);
            for (size_t i = 0; i < state.size(); i++)
                sum[i] += weights[s] * slope[i];
        }
        LEAVE();
        for (size_t i = 0; i < state.size(); i++)
            state[i] += dt * sum[i];
        norm = callbacks.norm(state);
    }
    LEAVE();
    return norm;
}

} // namespace integrator

static int rank, ranks;

// Heat on a ring of points that the ranks share.
NOINLINE static void heat(const integrator::Vector &u, integrator::Vector &slope)
{
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    double from_left, from_right;
    CALL(MPI_Sendrecv, &u.back(), 1, MPI_DOUBLE, right, 1, &from_left, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
         MPI_STATUS_IGNORE);
    CALL(MPI_Sendrecv, &u.front(), 1, MPI_DOUBLE, left, 2, &from_right, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD,
         MPI_STATUS_IGNORE);
    for (size_t i = 0; i < u.size(); i++)
        slope[i] = (i > 0 ? u[i - 1] : from_left) - 2 * u[i] + (i + 1 < u.size() ? u[i + 1] : from_right);
}

NOINLINE static double total(const integrator::Vector &u)
{
    double own = 0, all;
    for (double value : u)
        own += value * value;
    CALL(MPI_Allreduce, &own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    TRUTH_RANK(rank);
    int steps = argc > 1 ? std::atoi(argv[1]) : 30;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    integrator::Vector state(100000);
    for (size_t i = 0; i < state.size(); i++)
        state[i] = std::sin(.1 * double(i)) + (i % 3);
    double before = total(state), sum = 0;
    integrator::Callbacks callbacks;
    callbacks.right_side = [&](double time, const auto &u, auto &slope, int) {
        heat(u, slope);
        sum += time;
    };
    callbacks.norm = [&](const auto &u) { return std::sqrt(total(u)); };
    double after = integrator::integrate(state, .1, steps, callbacks);
    bool good = after * after < before && after > 0 && sum > 0;
    if (!good)
        std::fprintf(stderr, "callback: rank %d: verification FAILED\n", rank);
    else if (rank == 0)
        std::printf("callback: %d ranks, verification ok\n", ranks);
    CALL(MPI_Finalize);
    return good ? 0 : 1;
}
