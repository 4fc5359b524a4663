// Explanations of the values: the sentences of the terminal's help, for this page.

import { h } from "../report/dom";

const READING = [
  "Column “now” covers the time since the previous look, column “all” the time since the first MPI_Init.",
  "Clusters group the computation between calls by duration. Their column “now” covers the time since the previous clustering.",
  "Shares of ranks exclude MPI_Init and MPI_Finalize; those of call sites include them.",
  "The main loop is that of the first rank that has one. Its iterations are visits of the call that recurs most regularly.",
  "The scale of durations is cut at twice the highest mean; a triangle marks a longer iteration.",
  "The graph is steady after three looks in a row with at most 1 % of the time on new edges.",
  "Column “inside” is the current call of a rank, column “time in call” the time in it.",
  "This page keeps the looks that it receives, 600 points at most; then neighbouring looks share a point.",
  "The structure of the finished run also uses the source's loops, so that its main loop may be another one.",
];

export const reading = (): HTMLElement =>
  h("details", { class: "reading" }, h("summary", {}, "how to read the values"), h("ul", {}, ...READING.map((one) => h("li", {}, one))));
