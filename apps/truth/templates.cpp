// A field in two dimensions as C++ templates see it: layouts, policies and directions are types, so that the names of
// functions are long, and each direction has exchange functions of its own.
//
//     templates [steps]
#include <array>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mpi.h>
#include <string>
#include <vector>

#include "truth.h"

namespace lattice::discretisation {

template <typename Number> MPI_Datatype datatype();
template <> MPI_Datatype datatype<double>() { return MPI_DOUBLE; }
template <> MPI_Datatype datatype<float>() { return MPI_FLOAT; }

template <int Axis, int Sign> struct direction {};
template <typename Number, typename Allocator> struct contiguous_storage_policy { std::vector<Number, Allocator> values; };

template <typename Number, template <typename, typename> class Storage, int Columns, int Rows> class distributed_field {
public:
    static constexpr int stride = Columns + 2;
    explicit distributed_field(MPI_Comm grid) : comm(grid)
    {
        current.values.resize(stride * (Rows + 2));
        next.values.resize(stride * (Rows + 2));
        MPI_Cart_shift(comm, 0, 1, &sides[0][0], &sides[0][1]);
        MPI_Cart_shift(comm, 1, 1, &sides[1][0], &sides[1][1]);
    }

    template <int Axis, int Sign> __attribute__((noinline)) void exchange(direction<Axis, Sign>)
    {
        constexpr int count = Axis == 0 ? Columns : Rows;
        std::array<Number, count> out, in;
        for (int i = 0; i < count; i++)
            out[i] = at(Axis, Sign > 0 ? (Axis == 0 ? Rows : Columns) : 1, i + 1);
        int to = sides[Axis][Sign > 0], from = sides[Axis][Sign < 0];
        CALL(MPI_Sendrecv, out.data(), count, datatype<Number>(), to, 2 * Axis + (Sign > 0), in.data(), count,
             datatype<Number>(), from, 2 * Axis + (Sign > 0), comm, MPI_STATUS_IGNORE);
        if (from != MPI_PROC_NULL)
            for (int i = 0; i < count; i++)
                at(Axis, Sign > 0 ? 0 : (Axis == 0 ? Rows : Columns) + 1, i + 1) = in[i];
    }

    // All four directions, one after the other.
    __attribute__((noinline)) void exchange_all()
    {
        exchange(direction<0, 1>{});
        exchange(direction<0, -1>{});
        exchange(direction<1, 1>{});
        exchange(direction<1, -1>{});
        exchanges++;
    }

    __attribute__((noinline)) Number relax()
    {
        Number change = 0;
        for (int j = 1; j <= Rows; j++)
            for (int i = 1; i <= Columns; i++) {
                Number value = Number(.25) * (at(0, j, i - 1) + at(0, j, i + 1) + at(0, j - 1, i) + at(0, j + 1, i));
                next.values[j * stride + i] = value;
                change += (value - at(0, j, i)) * (value - at(0, j, i));
            }
        std::swap(current, next);
        return change;
    }

    Number &at(int axis, int line, int place) { return current.values[axis == 0 ? line * stride + place : place * stride + line]; }
    int exchanges = 0;

private:
    MPI_Comm comm;
    Storage<Number, std::allocator<Number>> current, next;
    int sides[2][2];
};

template <typename Field, typename Number> struct monitored_relaxation_driver {
    Field &field;
    MPI_Comm comm;
    Number first = 0, last = 0;

    __attribute__((noinline)) void look(Number own)
    {
        CALL(MPI_Allreduce, &own, &last, 1, datatype<Number>(), MPI_SUM, comm);
        if (first == 0)
            first = last;
    }

    template <typename... Policies> __attribute__((noinline)) void run(int steps, int every)
    {
        MAIN_LOOP("steps");
        for (int step = 0; step < steps; step++) {
            TURN();
            field.exchange_all();
            Number change = field.relax();
            if (step % every == every - 1)
                look(change);
        }
        LEAVE();
    }
};

} // namespace lattice::discretisation

int main(int argc, char **argv)
{
    using namespace lattice::discretisation;
    using Field = distributed_field<double, contiguous_storage_policy, 192, 192>;
    CALL(MPI_Init, &argc, &argv);
    int rank, ranks, sides[2] = {0, 0}, open[2] = {0, 0}, steps = argc > 1 ? std::atoi(argv[1]) : 60;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    TRUTH_RANK(rank);
    MPI_Dims_create(ranks, 2, sides);
    MPI_Comm grid;
    CALL(MPI_Cart_create, MPI_COMM_WORLD, 2, sides, open, 0, &grid);
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, grid);
    Field field(grid);
    for (int j = 1; j <= 192; j++)
        for (int i = 1; i <= 192; i++)
            field.at(0, j, i) = (i * j) % 7;
    monitored_relaxation_driver<Field, double> driver{field, grid};
    driver.run<std::complex<double>, std::array<std::string, 4>>(steps, 6);
    bool good = driver.last < driver.first && field.exchanges == steps;
    if (!good)
        std::fprintf(stderr, "templates: rank %d: verification FAILED\n", rank);
    else if (rank == 0)
        std::printf("templates: %d ranks, verification ok\n", ranks);
    CALL(MPI_Comm_free, &grid);
    CALL(MPI_Finalize);
    return good ? 0 : 1;
}
