// A made-up `talea watch --page`: the page's files, and a stream of looks that the test sends.
// The looks are those of a halo exchange on any number of ranks; they are the same in every run.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../dist/watch/", import.meta.url));
export const POLICY = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
export const HOSTILE = "<img src=x onerror=window.broken=1>`\"'\u202e\u061c\u200b\n" + "x".repeat(300);
const TOKEN = "5d2f9c";
const SECOND = 1e9;

/** Always the same number between 0 and 1 for a place. */
const noise = (at) => {
  const x = Math.sin(at * 127.1 + 311.7) * 43758.5453;
  return x - Math.floor(x);
};

const SITES = [
  ["MPI_Waitall comm_brick.cpp:538", 0.07, 4], ["MPI_Allreduce verlet.cpp:310", 0.025, 1], ["MPI_Send comm_brick.cpp:531", 0.01, 6], ["MPI_Irecv comm_brick.cpp:527", 0.002, 6],
  ["MPI_Sendrecv comm_brick.cpp:702", 0.008, 0.4], ["MPI_Bcast input.cpp:214", 0.0002, 0.01], ["MPI_File_write_at_all dump.cpp:88", 0.004, 0.05], ["MPI_Init main.cpp:41", 0.003, 0],
];
const ITERATION = 30.6e6;

/** The look number `look` of a run, one a second. */
export function sample(look, { ranks = 4, hosts = 1, last = false, slow = -1, ended = {} } = {}) {
  const time_ns = look * SECOND + 12_345_678;
  const running = !last;
  const done = Math.floor((time_ns - 0.4 * SECOND) / ITERATION);
  const stride = 2 ** Math.max(0, Math.ceil(Math.log2(done / 256)));
  const history = Array.from({ length: Math.max(1, Math.ceil(done / stride)) }, (_, at) => {
    const count = Math.min(stride, Math.max(1, done - at * stride));
    const own = noise(at * stride + 5);
    const mean_ns = Math.round(ITERATION * (0.97 + 0.06 * own));
    const long = noise(at * 7 + 3) > 0.96;
    return { begin_ns: Math.round(0.4 * SECOND + at * stride * ITERATION), count, mean_ns, min_ns: count > 1 ? Math.round(mean_ns * 0.93) : mean_ns,
      max_ns: count > 1 ? Math.round(mean_ns * (long ? 1.7 + own : 1.1 + 0.2 * own)) : mean_ns };
  });
  if (history.length > 40) history[37].max_ns = 141_000_000;
  const share = (rank) => (rank === slow ? 0.03 : 0.1 + 0.12 * noise(rank * 3 + 1) + 0.03 * noise(rank * 17 + look));
  const iterations = Math.max(0, done);
  return {
    look, running, time_ns, interval_ns: look === 1 ? time_ns : SECOND, took_ns: 2_345_678, events: look * 24_000 * ranks, new_events: last ? 0 : Math.round(24_000 * ranks * (0.9 + 0.2 * noise(look))), left_events: 0, nodes: 62 * ranks, edges: 88 * ranks,
    change: look < 4 ? 1 / look ** 2 : 0.0004 * noise(look), steady_since_ns: look < 7 ? null : 4 * SECOND, mpi_share: 0.121, recent_mpi_share: 0.11 + 0.06 * noise(look) + (look % 20 === 0 ? 0.2 : 0),
    main_loop: done < 4 ? null : { place: "verlet.cpp:291-357", counted_by: "MPI_Waitall comm_brick.cpp:538", rank: 0, iterations, min_iterations: Math.max(0, iterations - (ranks > 8 ? 6 : 0)), max_iterations: iterations, share: 0.931, mean_ns: ITERATION, variation: 0.041, history },
    clusters: look < 3 ? null : { bursts: 26_000 * look * ranks, time_ns: Math.round(0.88 * time_ns * ranks), by_calls: true, short_share: 0.012, noise_share: 0.003, others_share: 0, stable_since_ns: look < 8 ? null : 5 * SECOND, lowered: 0, clusters: [
      { id: 1, share: 0.81, recent_share: 0.79 + 0.04 * noise(look), bursts: 33 * look * ranks, mean_ns: 24_100_000, min_ns: 22_000_000, max_ns: 41_000_000, threads: ranks, after: "MPI_Waitall comm_brick.cpp:538", before: "MPI_Send comm_brick.cpp:531" },
      { id: 2, share: 0.13, recent_share: 0.14, bursts: 33 * look * ranks, mean_ns: 3_900_000, min_ns: 3_100_000, max_ns: 5_000_000, threads: ranks, after: "MPI_Sendrecv comm_brick.cpp:702", before: "MPI_Allreduce verlet.cpp:310" },
      { id: 4, share: 0.045, recent_share: 0.05, bursts: 3 * look * ranks, mean_ns: 11_900_000, min_ns: 11_000_000, max_ns: 15_000_000, threads: ranks, after: "MPI_Allreduce verlet.cpp:310", before: "MPI_Send comm_brick.cpp:531" }] },
    sites: SITES.map(([site, part, calls], at) => ({ site, calls: Math.round(calls * 33 * look * ranks) || ranks, time_ns: Math.round(part * time_ns * ranks), share: part, recent_share: last || at === 7 ? 0 : part * (0.8 + 0.4 * noise(at + look)) })),
    ranks: Array.from({ length: ranks }, (_, rank) => {
      const state = ended[rank] ?? (last ? "finalized" : "running");
      const inside = noise(rank * 31 + look * 7) < 0.25 ? { site: SITES[Math.floor(noise(rank + look) * 3)][0], since_ns: Math.round(3e6 * noise(rank + 2 * look)) } : null;
      return { rank, world: 0, host: `node${String(Math.floor((rank * hosts) / ranks) + 1).padStart(2, "0")}`, state, events: look * 24_000, iterations: Math.max(0, iterations - (ranks > 8 ? Math.floor(7 * noise(rank)) : 0)), mpi_share: share(rank) * 0.95, recent_mpi_share: last ? 0 : share(rank), inside: state === "running" ? inside : null };
    }),
    gaps: [],
  };
}

/** Serves the page of a run; the test sends the looks. */
export async function serve(head = { name: "lammps-4", path: "runs/lammps-4", command: "mpirun -n 4 lmp -in melt.in", every_ns: SECOND }, port = 0) {
  const clients = new Set();
  const site = { newest: null, connections: 0, refuses: false };
  const write = (response, data) => response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  const server = createServer((request, response) => {
    const send = (type, body) => {
      response.writeHead(200, { "content-type": type, "content-security-policy": POLICY, "x-content-type-options": "nosniff", "cache-control": "no-store" });
      response.end(body);
    };
    const file = (name) => readFileSync(`${dist}${name}`);
    const { pathname } = new URL(request.url, "http://host");
    if (pathname === `/${TOKEN}/`) return send("text/html; charset=utf-8", file("index.html"));
    if (pathname === `/${TOKEN}/app.js`) return send("text/javascript; charset=utf-8", file("app.js"));
    if (pathname === `/${TOKEN}/app.css`) return send("text/css; charset=utf-8", file("app.css"));
    if (pathname !== `/${TOKEN}/looks`) {
      response.writeHead(403, { "content-security-policy": POLICY });
      return response.end();
    }
    site.connections += 1;
    if (site.refuses) {
      response.writeHead(503, { "content-security-policy": POLICY });
      return response.end();
    }
    response.writeHead(200, { "content-type": "text/event-stream", "content-security-policy": POLICY, "cache-control": "no-store" });
    // Browsers connect again after this many milliseconds.
    response.write(`retry: 50\nevent: run\ndata: ${JSON.stringify(head)}\n\n`);
    if (site.newest) write(response, site.newest);
    clients.add(response);
    response.on("close", () => clients.delete(response));
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const { port: taken } = server.address();
  return Object.assign(site, {
    url: `http://127.0.0.1:${taken}/${TOKEN}/`,
    port: taken,
    /** Sends a look to all browsers; what is no look is sent as it is. */
    send: (data) => {
      if (typeof data !== "string") site.newest = data;
      for (const one of clients) write(one, data);
    },
    /** Ends all streams. */
    drop: () => {
      for (const one of clients) one.destroy();
    },
    close: () => new Promise((done) => {
      site.drop();
      server.close(done);
      server.closeAllConnections();
    }),
  });
}
