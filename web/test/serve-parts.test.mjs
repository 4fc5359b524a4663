// Parts of the server's pages that need no browser: which package a path belongs to, shares, addresses, nodes over time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** A module of the pages, without the rest. */
async function part(name) {
  const entry = fileURLToPath(new URL(`../src/serve/${name}.ts`, import.meta.url));
  const made = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].contents).toString("base64")}`);
}

test("paths belong to packages", async () => {
  const { packageOf } = await part("packages");
  const cases = {
    "/lib/x86_64-linux-gnu/libc.so.6": "GNU C library", "/lib/x86_64-linux-gnu/libm.so.6": "GNU libm", "/usr/lib64/libm-2.31.so": "GNU libm", "/lib64/ld-linux-x86-64.so.2": "GNU C library",
    "/opt/intel/oneapi/mkl/2025.0/lib/libmkl_avx512.so.2": "MKL", "/sw/conda/lib/libmkl_core.so": "MKL", "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so": "OpenBLAS",
    "/home/x/env/lib/python3.11/site-packages/numpy.libs/libopenblas64_p-r0-15028c96.3.21.so": "OpenBLAS", "/home/x/env/lib/python3.11/site-packages/scipy/linalg/_fblas.so": "NumPy and SciPy",
    "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so.40": "Open MPI", "/sw/intel-2021/openmpi-4.1/lib/libmpi.so.40.30.1": "Open MPI", "/opt/intel/oneapi/mpi/2021.14/lib/libmpi.so.12": "Intel MPI",
    "/usr/lib/x86_64-linux-gnu/libmpich.so.12": "MPICH", "/sw/mvapich2/lib/libmpi.so.12": "MPICH", "/opt/cray/pe/lib64/libmpi_cray.so.12": "Cray MPICH",
    "/lib/x86_64-linux-gnu/libuct.so.0": "UCX", "/usr/lib/libibverbs.so.1": "fabrics", "/usr/local/cuda-12/lib64/libcublas.so.12": "CUDA", "/usr/lib/x86_64-linux-gnu/libcuda.so.550": "CUDA", "/opt/rocm/lib/librocblas.so.4": "ROCm",
    "/usr/lib/x86_64-linux-gnu/libgomp.so.1": "GNU compiler runtime", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6": "GNU compiler runtime", "/opt/intel/lib/libiomp5.so": "LLVM compiler runtime",
    "/usr/bin/python3.11": "Python", "/opt/lammps/bin/lmp_mpi": "LAMMPS", "/home/ada/vasp/bin/vasp_std": "VASP", "/sw/gromacs/bin/gmx_mpi": "GROMACS", "/sw/qe/bin/pw.x": "Quantum ESPRESSO",
    "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus": "compilers and builds", "/usr/bin/x86_64-linux-gnu-ld.bfd": "operating system, unclassified", "/usr/bin/ld": "compilers and builds", "/home/ada/a.out": "own builds in home folders", "/home/ada/a.out (deleted)": "own builds in home folders",
    "/scratch/ada/run/solver": "own builds elsewhere", "/sw/special/bin/tool": "installed software, unclassified", "[kernel]": "Linux kernel", "/usr/bin/bash": "system services and shells", "": "unclassified", "relative": "unclassified",
    [`/lib${"x".repeat(100_000)}`]: "unclassified",
  };
  for (const [path, name] of Object.entries(cases)) assert.equal(packageOf(path).name, name, path.slice(0, 100));
});

test("shares have the intervals of the store", async () => {
  const { proportion } = await part("answers");
  // Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 1998, table I: Wilson.
  for (const [hits, n, low, high] of [[81, 263, 0.2553, 0.3662], [15, 148, 0.0624, 0.1605], [0, 20, 0, 0.1611], [1, 29, 0.0061, 0.1718]]) {
    const share = proportion(hits, n);
    assert.ok(Math.abs(share.low - low) < 1e-4 && Math.abs(share.high - high) < 1e-4, `${hits} of ${n}: ${share.low} ${share.high}`);
  }
  assert.equal(proportion(0, 0), null);
});

test("addresses say times, or the usual ones", async () => {
  const { asked, link, read, step, wrongTimes } = await part("route");
  assert.deepEqual(asked(read("#/machine?last=6h")), { last: "6h" });
  assert.deepEqual(asked(read("#/machine?last=x")), { last: "1h" });
  assert.deepEqual(asked(read("#/machine?from=2026-01-01T00:00:00Z")), { last: "1h" });
  assert.deepEqual(asked(read("#/machine?from=1&to=2&last=6h")), { from: "1", to: "2" });
  for (const [times, said] of [["last=banana", "last=banana is no time"], ["last=1h&from=x&to=2", "from=x is no time"], ["from=1&to=never", "to=never is no time"], ["from=1", "from stands alone"], ["to=2020-01-01", "to stands alone"], ["from=5&to=2", "from=5 is not before to=2"]]) {
    assert.match(wrongTimes(read(`#/machine?${times}`)), new RegExp(`^${said}`));
  }
  for (const times of ["", "last=90d", "from=1&to=2", "from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z", "last=&from=&to="]) assert.equal(wrongTimes(read(`#/machine?${times}`)), null, times);
  for (const name of ["a?b=c&d#e/%41", "\"'<>\u202e\n", "../..", "__proto__"]) {
    const route = read(link("job", { id: name, last: null, q: "" }));
    assert.deepEqual([route.page, route.params.get("id"), [...route.params.keys()]], ["job", name, ["id"]]);
  }
  assert.equal(step({ last: "1h" }, 96), 60);
  assert.equal(step({ last: "30d" }, 96), 43_200);
});

test("nodes over time: columns are the store's slices, and silence is told from not yet being there", async () => {
  const { bands, measured, NodeTimes } = await part("heat-model");
  const minute = 60e9;
  const point = (at, by_key) => ({ begin_ns: at * minute, all_samples: 0, samples: 0, by_key, core_seconds: [] });
  const series = { by: ["node", "activity"], step_ns: minute, gaps: [], keys: [["a", "user"], ["a", "idle"], ["b", "waiting"]], points: [point(100, [3, 1, 0]), point(110, [0, 0, 5]), point(120, [4, 0, 0])] };
  const node = (name, first, last) => ({ name, first_ns: first * minute, last_ns: last * minute, cores: 1, sampler: "bpf" });
  const data = NodeTimes.of(series, [node("a", 100, 122), node("b", 110, 118), node("c", 115, 117)], 40 * minute);
  assert.deepEqual([data.names, data.width, data.columns.length, data.columns[0].begin], [["a", "b", "c"], 10 * minute, 4, 90 * minute]);
  const silent = (row) => data.columns.map((_, column) => data.cell([row], column).silent);
  assert.deepEqual([silent(0), silent(1), silent(2)], [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1]]);
  const begun = NodeTimes.of(series, [node("a", 100, 121), node("b", 110, 120)], 40 * minute);
  assert.equal(begun.cell([1], 3).silent, 0, "its batch is still to come");
  const slow = (last) => NodeTimes.of(series, [node("a", 100, 121), { ...node("b", 90, last), interval_ns: 10 * minute }], 40 * minute).cell([1], 3).silent;
  assert.deepEqual([slow(92), slow(91)], [0, 1], "three of its own intervals are not over, and are");
  assert.equal(measured(data.cell([0], 1), "busy"), 0.75);
  assert.equal(measured(data.cell([0, 1], 2), "waiting"), 1);
  assert.equal(measured(data.cell([0], 0), "busy"), null);
  const polls = NodeTimes.of({ ...series, keys: [["a", "user"], ["a", "mpi"]], points: [point(100, [1, 3])] }, [], 10 * minute);
  assert.deepEqual(["busy", "computing", "user", "mpi"].map((one) => measured(polls.cell([0], polls.columns.length - 1), one)), [1, 0.25, 0.25, 0.75]);
  assert.equal(NodeTimes.of({ ...series, points: [] }, [], minute), null);
  assert.deepEqual(bands([0, 1, 2, 3, 4], 3, 1), [[0], [1, 2], [3, 4]]);
  const part_ = NodeTimes.part({ ...series, by: ["node"], keys: [["a"]], points: [point(100, [1])] }, { ...series, by: ["node"], keys: [["b"], ["a"]], points: [point(100, [9, 4])] }, 10 * minute);
  assert.deepEqual([part_.names, part_.cell([0], part_.columns.length - 1).counts], [["a"], [1, 0, 0, 0, 3]], "user, kernel, mpi, waiting, idle");
});
