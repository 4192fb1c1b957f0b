import { cpus } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { busyShare, busyWarning } from "../harness/busy.ts";
import { longestTurn, referenceMs, type StallCase } from "./turn-meter.ts";

/**
 * Measures for how long works of which somebody else decides the size stall the main thread: the CPU time of the longest turn of the
 * event loop, and its ratio to a fixed piece of work, which is measured around each attempt. Other calls wait for a turn to end.
 */
const USAGE = `npm run bench:stalls [-- WORD…] [options]     only cases with one of the words in "group: name"
  --check              exit with 1 if a ratio stays above 8 in each of five attempts; stops at the first one below
  --corpora FOLDER     also the hostile programs and components in a folder`;

const ATTEMPTS = 5;

/** 60 to 100 ms, as the reference takes 8 to 12. The promise is 20 ms; from 100 ms on, other calls would notice. */
const MAX_RATIO = 8;

/** The cases of each group. A group is loaded when it is measured. */
const GROUPS: Readonly<Record<string, () => Promise<readonly StallCase[]>>> = {
  json: async () => (await import("./json.ts")).cases,
  tools: async () => (await import("./tools.ts")).cases,
  policy: async () => (await import("./policy.ts")).cases,
  journal: async () => (await import("./journal.ts")).cases,
  quickjs: async () => (await import("./quickjs.ts")).cases,
  components: async () => (await import("./components.ts")).cases,
  programs: async () => (await import("./programs.ts")).cases,
};

const { values, positionals: words } = parseArgs({
  options: { check: { type: "boolean", default: false }, corpora: { type: "string" } },
  allowPositionals: true,
});

const { check: isCheck, corpora } = values;
const groups =
  corpora === undefined
    ? GROUPS
    : { ...GROUPS, corpora: async () => (await import("./corpora.ts")).casesIn(resolve(corpora)) };

const warning = busyWarning(await busyShare());
if (warning !== undefined) console.log(`${warning}\n`);
console.log("longest turn   ratio");
const tooLong: string[] = [];
let measured = 0;
for (const [group, load] of Object.entries(groups)) {
  for (const { name, prepare } of await load()) {
    const title = `${group}: ${name}`;
    if (words.length > 0 && !words.some((word) => title.includes(word))) continue;
    await using later = new AsyncDisposableStack();
    const work = await prepare(later);
    const { ms, ratio } = await longestTurn(work, ATTEMPTS, (turn) => isCheck && turn.ratio <= MAX_RATIO);
    const figures = `${ms.toFixed(1).padStart(9)} ms ${ratio.toFixed(2).padStart(7)}`;
    console.log(`${figures}  ${title}`);
    measured++;
    if (ratio > MAX_RATIO) tooLong.push(`${figures}  ${title}`);
  }
}
if (measured === 0) {
  console.error(`No case has one of these words.\n${USAGE}`);
  process.exitCode = 2;
}
const machine = `${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.versions.node}`;
console.log(`${measured} cases; the reference takes ${referenceMs().toFixed(1)} ms now; ${machine}`);
if (tooLong.length > 0) {
  console.log(
    `Above ${MAX_RATIO} times the reference in each of ${ATTEMPTS} attempts:\n${tooLong.join("\n")}`,
  );
  if (isCheck) process.exitCode = 1;
}
