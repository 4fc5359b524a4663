/* Phases of a program, marked by its author and seen from outside: in profiles, and by `talea` on the node.
 *
 *   TALEA_PHASE_BEGIN("solve");      until    TALEA_PHASE_END("solve");       anywhere in the same thread
 *   TALEA_PHASE_SCOPE("solve");      until the end of the block (C with GCC or Clang, C++)
 *   TALEA_LOOP("sweep", for (i = 0; i < n; i++), a[i] += b[i];)                each turn of a loop, one check for all of them
 *
 * Names are literals; they should say what the program does, not with which data. Phases nest, 32 deep.
 *
 * The library is not needed to build or to run. Linked without it, a marker costs a load and a branch, for ever; with
 * LD_PRELOAD=libtalea_mark.so or linked with -ltalea_mark it works. Some linkers drop libraries that nothing needs for certain:
 * -Wl,--no-as-needed -ltalea_mark, or define TALEA_MARK_REQUIRED, which makes the library needed. Programs that are linked
 * with -no-pie must be linked with it. -DTALEA_MARK_NONE leaves all markers out.
 *
 * A marker that takes more than 1 % of a thread's time switches itself off. In the environment of the program: TALEA_MARK=off
 * switches all off, TALEA_MARK=report says at exit what was entered how often, TALEA_MARK_BUDGET=2% (or `none`) sets the share.
 *
 * C99 or later, or C++. Interface version 1.
 */
#ifndef TALEA_MARK_H
#define TALEA_MARK_H

#define TALEA_MARK_VERSION 1

#ifndef TALEA_MARK_NONE

/* What the library keeps of a marker. Only the macros make it. */
struct talea_mark_site {
    const char *name;
    const char *file;
    signed char *flag;
    void *marker;
    unsigned line;
    unsigned char kind;
    unsigned char version;
    unsigned short reserved;
};

/* Calls go through the table of addresses at once, not by a jump through it, where the compiler can. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define TALEA_MARK_NEAR_ __attribute__((noplt))
#else
#define TALEA_MARK_NEAR_
#endif

#ifdef TALEA_MARK_REQUIRED
#define TALEA_MARK_WEAK_ TALEA_MARK_NEAR_
#define TALEA_MARK_THERE_ 1
#else
#define TALEA_MARK_WEAK_ TALEA_MARK_NEAR_ __attribute__((weak))
#define TALEA_MARK_THERE_ (talea_mark_register != 0)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* First use of a site: its flag from now on, 1 if it is on, -1 if it is off. */
extern signed char talea_mark_register(struct talea_mark_site *site) TALEA_MARK_WEAK_;
/* Enters the phase of a site that is on: 1 if it must be left again. */
extern int talea_mark_enter(struct talea_mark_site *site) TALEA_MARK_WEAK_;
/* Leaves the innermost phase of that name, and what is inside it. Does nothing if the thread is in none. */
extern void talea_mark_leave(struct talea_mark_site *site) TALEA_MARK_WEAK_;

#ifdef __cplusplus
}
#endif

/* Flags stand together, 64 in a cache line: one that is cold costs more than all else. Not in C++, where GCC refuses a section that
 * holds variables of inline functions beside others; there the linker gathers them with other small variables. */
#ifdef __cplusplus
#define TALEA_MARK_FLAG_
#else
#define TALEA_MARK_FLAG_ __attribute__((section("talea_mark_flags")))
#endif

/* A plain load: compilers may take it out of loops, which they may not do with an atomic one. It changes from 0 once, and to -1 once;
 * a thread that sees the old value goes the longer way. */
#if defined(__SANITIZE_THREAD__)
#define TALEA_MARK_FLAG_OF_(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)
#else
#define TALEA_MARK_FLAG_OF_(flag) (flag)
#endif

#define TALEA_MARK_SITE_(text, end)                    \
    static signed char talea_flag_ TALEA_MARK_FLAG_ = 0; \
    static struct talea_mark_site talea_site_ = {"" text, __FILE__, &talea_flag_, 0, __LINE__, end, TALEA_MARK_VERSION, 0}

/* Likely on: where it is off, the branch that is taken costs nothing that can be measured, and where it is on, two are saved. */
#define TALEA_MARK_MAYBE_(flag) __builtin_expect((flag) >= 0, 1)

/* Whether the site is on, after its first use. */
__attribute__((unused, noinline, cold)) static int talea_mark_first_(struct talea_mark_site *site)
{
    if (TALEA_MARK_THERE_ && talea_mark_register(site) > 0)
        return 1;
    *site->flag = -1;
    return 0;
}

__attribute__((unused)) static inline int talea_mark_on_(struct talea_mark_site *site, signed char flag)
{
    return flag > 0 || (flag == 0 && talea_mark_first_(site));
}

/* The site if its phase was entered, else NULL. */
__attribute__((unused)) static inline struct talea_mark_site *talea_mark_begin_(struct talea_mark_site *site, signed char flag)
{
    return talea_mark_on_(site, flag) && talea_mark_enter(site) ? site : 0;
}

__attribute__((unused)) static inline void talea_mark_end_(struct talea_mark_site *site, signed char flag)
{
    if (talea_mark_on_(site, flag))
        talea_mark_leave(site);
}

__attribute__((unused)) static inline void talea_mark_scope_end_(struct talea_mark_site **site)
{
    if (*site)
        talea_mark_leave(*site);
}

#define TALEA_PHASE_BEGIN(name)                              \
    do {                                                     \
        TALEA_MARK_SITE_(name, 0);                           \
        signed char talea_is_ = TALEA_MARK_FLAG_OF_(talea_flag_); \
        if (TALEA_MARK_MAYBE_(talea_is_))                    \
            (void)talea_mark_begin_(&talea_site_, talea_is_); \
    } while (0)

#define TALEA_PHASE_END(name)                                \
    do {                                                     \
        TALEA_MARK_SITE_(name, 1);                           \
        signed char talea_is_ = TALEA_MARK_FLAG_OF_(talea_flag_); \
        if (TALEA_MARK_MAYBE_(talea_is_))                    \
            talea_mark_end_(&talea_site_, talea_is_);        \
    } while (0)

#define TALEA_MARK_JOIN2_(a, b) a##b
#define TALEA_MARK_JOIN_(a, b) TALEA_MARK_JOIN2_(a, b)
#define TALEA_MARK_OWN_(what) TALEA_MARK_JOIN_(what, __LINE__)

/* One for each line. Left by return, break, goto and exceptions, too. */
#define TALEA_PHASE_SCOPE(name)                                                                                            \
    static signed char TALEA_MARK_OWN_(talea_flag_) TALEA_MARK_FLAG_ = 0;                                                  \
    static struct talea_mark_site TALEA_MARK_OWN_(talea_site_) = {                                                         \
        "" name, __FILE__, &TALEA_MARK_OWN_(talea_flag_), 0, __LINE__, 0, TALEA_MARK_VERSION, 0};                          \
    const signed char TALEA_MARK_OWN_(talea_is_) = TALEA_MARK_FLAG_OF_(TALEA_MARK_OWN_(talea_flag_));                      \
    __attribute__((unused, cleanup(talea_mark_scope_end_))) struct talea_mark_site *TALEA_MARK_OWN_(talea_scope_) =        \
        TALEA_MARK_MAYBE_(TALEA_MARK_OWN_(talea_is_))                                                                      \
            ? talea_mark_begin_(&TALEA_MARK_OWN_(talea_site_), TALEA_MARK_OWN_(talea_is_))                                 \
            : 0

/* One check for a loop: `guard` says for all turns whether the site is on now. Compilers make two loops of it where they know that
 * trick (GCC from -O3 on); TALEA_LOOP does not depend on that. */
#define TALEA_LOOP_GUARD(guard, name)                                                             \
    static signed char TALEA_MARK_JOIN_(guard, _flag_) TALEA_MARK_FLAG_ = 0;                      \
    static struct talea_mark_site TALEA_MARK_JOIN_(guard, _site_) = {                             \
        "" name, __FILE__, &TALEA_MARK_JOIN_(guard, _flag_), 0, __LINE__, 0, TALEA_MARK_VERSION, 0}; \
    const signed char TALEA_MARK_JOIN_(guard, _is_) = TALEA_MARK_FLAG_OF_(TALEA_MARK_JOIN_(guard, _flag_)); \
    struct talea_mark_site *const guard =                                                         \
        TALEA_MARK_MAYBE_(TALEA_MARK_JOIN_(guard, _is_)) &&                                       \
                talea_mark_on_(&TALEA_MARK_JOIN_(guard, _site_), TALEA_MARK_JOIN_(guard, _is_))   \
            ? &TALEA_MARK_JOIN_(guard, _site_)                                                    \
            : 0

#define TALEA_GUARDED_BEGIN(guard)           \
    do {                                     \
        if (guard)                           \
            (void)talea_mark_enter(guard);   \
    } while (0)

#define TALEA_GUARDED_END(guard)     \
    do {                             \
        if (guard)                   \
            talea_mark_leave(guard); \
    } while (0)

/* The loop twice, without markers and with one in each turn; one check decides between them. `head` is `for (...)` or `while (...)`, the
 * rest is the body. */
#define TALEA_LOOP(name, head, ...)                                                                                \
    do {                                                                                                           \
        TALEA_MARK_SITE_(name, 0);                                                                                 \
        signed char talea_is_ = TALEA_MARK_FLAG_OF_(talea_flag_);                                                  \
        if (TALEA_MARK_MAYBE_(talea_is_) && talea_mark_on_(&talea_site_, talea_is_)) {                             \
            head {                                                                                                 \
                __attribute__((unused, cleanup(talea_mark_scope_end_))) struct talea_mark_site *talea_turn_ =      \
                    talea_mark_enter(&talea_site_) ? &talea_site_ : 0;                                             \
                __VA_ARGS__                                                                                        \
            }                                                                                                      \
        } else {                                                                                                   \
            head {                                                                                                 \
                __VA_ARGS__                                                                                        \
            }                                                                                                      \
        }                                                                                                          \
    } while (0)

#else

#define TALEA_PHASE_BEGIN(name) ((void)0)
#define TALEA_PHASE_END(name) ((void)0)
#define TALEA_PHASE_SCOPE(name) ((void)0)
#define TALEA_LOOP_GUARD(guard, name) const int guard = 0
#define TALEA_GUARDED_BEGIN(guard) ((void)(guard))
#define TALEA_GUARDED_END(guard) ((void)(guard))
#define TALEA_LOOP(name, head, ...) \
    do {                            \
        head {                      \
            __VA_ARGS__             \
        }                           \
    } while (0)

#endif
#endif
