/* A small library between a program and MPI: exchanges of rows that are begun and ended, and norms. */
#ifndef EXCHANGE_H
#define EXCHANGE_H
typedef struct Exchange Exchange;
/* For rows of so many numbers with the ranks below and above, on a communicator of its own. */
Exchange *exchange_create(int columns, int below, int above);
void exchange_begin(Exchange *exchange, double *low_halo, double *low, double *high, double *high_halo);
void exchange_end(Exchange *exchange);
double exchange_norm(Exchange *exchange, double own);
void exchange_free(Exchange *exchange);
#endif
