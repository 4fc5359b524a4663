/* A program that leaves communication to a shared library (exchange.c): it makes no MPI call in its time loop itself. Each step
 * exchanges two fields, one during the work on the other; every fourth asks for norms of both.
 *
 *     library [steps] */
#include "exchange.h"
#define TRUTH_EXPORT
#include "strip.h"

enum { COLUMNS = 512, ROWS = 64 };

static Strip heat, salt;
static Exchange *exchange;

static NOINLINE void begin(Strip *s)
{
    exchange_begin(exchange, row(s, s->u, 0), row(s, s->u, 1), row(s, s->u, ROWS), row(s, s->u, ROWS + 1));
}

static NOINLINE double advance(void)
{
    begin(&heat);
    apply_stencil(&salt, salt.u, salt.f);
    exchange_end(exchange);
    double change = sweep(&heat);
    begin(&salt);
    exchange_end(exchange);
    for (int i = COLUMNS; i < (ROWS + 1) * COLUMNS; i++)
        salt.u[i] -= .1 * salt.f[i];
    return change;
}

int main(int argc, char **argv)
{
    CALL(MPI_Init, &argc, &argv);
    find_neighbours();
    int steps = argc > 1 ? atoi(argv[1]) : 48;
    CALL(MPI_Bcast, &steps, 1, MPI_INT, 0, MPI_COMM_WORLD);
    heat = new_strip(ROWS, COLUMNS);
    salt = new_strip(ROWS, COLUMNS);
    for (int i = 0; i < (ROWS + 2) * COLUMNS; i++)
        salt.u[i] = heat.u[i] = i % 19;
    exchange = exchange_create(COLUMNS, below, above);
    double first = 0, last = 0, salty = 0;
    MAIN_LOOP("steps");
    for (int step = 0; step < steps; step++) {
        TURN();
        double change = advance();
        if (step % 4 == 3) {
            last = exchange_norm(exchange, change);
            salty = exchange_norm(exchange, own_product(&salt, salt.u, salt.u));
            if (first == 0)
                first = last;
        }
    }
    LEAVE();
    exchange_free(exchange);
    int code = verdict("library", last < first && salty > 0);
    CALL(MPI_Finalize);
    return code;
}
