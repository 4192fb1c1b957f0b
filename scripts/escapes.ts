/**
 * `npm run test:escapes`: programs in the process sandbox try to get out, in every way that `test/escapes/attempts` has.
 * Prints a table of the attempts, of their controls, which must succeed, and of those that got out: in namespaces none, and
 * on Landlock exactly those that `test/escapes/not-enforced-attempts.ts` names. Options: words that
 * the names of attempts must contain. `--commands N` runs that many commands instead that leave descendants behind, in
 * namespaces and as many on Landlock, and prints how many of these are still there 100 ms after each. Runs the built package,
 * whose processes for Landlock start in a third of the time that those of the sources take.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { openSandboxes } from "sandgate";
import { whyNotBuilt } from "../bench/harness/built.ts";
import type { Isolation } from "../src/tool/sandbox-mode.ts";
import { type Attempt, attemptNames } from "../test/escapes/attempt.ts";
import { FILES } from "../test/escapes/attempts/files.ts";
import { KERNEL } from "../test/escapes/attempts/kernel.ts";
import { NETWORK } from "../test/escapes/attempts/network.ts";
import { OTHERS } from "../test/escapes/attempts/others.ts";
import { countDescendants, launchersLeft } from "../test/escapes/descendants.ts";
import { NOT_HELD_ATTEMPTS } from "../test/escapes/not-enforced-attempts.ts";
import { type Result, runAttempt } from "../test/escapes/run.ts";
import { Tools } from "../test/escapes/tools.ts";
import { ISOLATIONS } from "../test/sandboxes/process/availability.ts";

/** How many commands with descendants run at once. */
const IN_FLIGHT = 8 * availableParallelism();

/** The attempts that must have been made, where the compiler and the privileges for their controls are there. */
const LEAST = 150;

const unbuilt = whyNotBuilt();
if (unbuilt !== undefined) {
  console.error(unbuilt);
  process.exit(2);
}
if (ISOLATIONS.length === 0) {
  console.log("No attempt was made.");
  process.exit();
}
const { values, positionals: words } = parseArgs({
  options: { commands: { type: "string" } },
  allowPositionals: true,
});
if (values.commands !== undefined) {
  for (const isolation of ISOLATIONS) await tellDescendants(isolation, Number(values.commands));
  process.exit();
}
using tools = new Tools();
if (tools.problem !== undefined)
  console.log(`Attempts that need a C program were not made: ${tools.problem}`);
const all = [...FILES, ...KERNEL, ...OTHERS, ...NETWORK].filter(
  ({ group, name, script }) =>
    words.every((word) => `${group}: ${name}`.includes(word)) &&
    (tools.problem === undefined || !script.includes("$TOOLS")),
);
const results = new Map<Isolation, readonly Result[]>();
for (const isolation of ISOLATIONS) results.set(isolation, await runAll(isolation));

let hasFailed = false;
for (const [isolation, of] of results) {
  for (const { attempt, noControl = "" } of of.filter((result) => result.noControl !== undefined))
    console.log(`${isolation}: no control here: ${nameOf(attempt)}: ${shorten(noControl)}`);
  const notHeld = isolation === "landlock" ? NOT_HELD_ATTEMPTS : new Set<string>();
  for (const { attempt, out, printed } of of) {
    if ((out !== undefined) === notHeld.has(nameOf(attempt))) continue;
    hasFailed = true;
    const what = out === undefined ? "HELD, but named as not held" : `OUT: ${out}`;
    console.log(`${isolation}: ${what}: ${nameOf(attempt)}: ${shorten(printed)}`);
  }
}
const columns = [...results].map(([isolation]) => isolation);
console.log(`\n| attempts | ${columns.map((name) => `${name}: made | with a control | out`).join(" | ")} |`);
console.log(`|---|${"--:|".repeat(3 * columns.length)}`);
for (const group of new Set(all.map((attempt) => attempt.group)))
  console.log(`| ${group} | ${counts((attempt) => attempt.group === group)} |`);
console.log(`| all | ${counts(() => true)} |`);
const isWhole = words.length === 0 && tools.problem === undefined && process.getuid?.() === 0;
const counted = [...results.values()].map(
  (of) => of.filter(({ noControl }) => noControl === undefined).length,
);
const tooFew = isWhole && counted.some((count) => count < LEAST);
if (tooFew) console.log(`\nFewer than ${LEAST} attempts had a control.`);
process.exitCode = hasFailed || tooFew ? 1 : 0;

async function runAll(isolation: Isolation): Promise<readonly Result[]> {
  const sandboxes = await openSandboxes({ process: { isolation } });
  const done: Result[] = [];
  const waiting = [...all];
  await Promise.all(
    Array.from({ length: availableParallelism() + 1 }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        done.push(await runAttempt(next, { isolation, sandboxes }, tools.directory));
    }),
  );
  await sandboxes.close();
  return done;
}

function counts(isCounted: (attempt: Attempt) => boolean): string {
  return [...results.values()]
    .map((of) => of.filter(({ attempt }) => isCounted(attempt)))
    .map((of) => [
      of,
      of.filter(({ noControl }) => noControl === undefined),
      of.filter(({ out }) => out !== undefined),
    ])
    .flatMap((lists) => lists.map(({ length }) => length))
    .join(" | ");
}

function nameOf(attempt: Attempt): string {
  return attemptNames([attempt]).join();
}

async function tellDescendants(isolation: Isolation, count: number): Promise<void> {
  const sandboxes = await openSandboxes({ process: { isolation } });
  const begun = performance.now();
  const all = await countDescendants(sandboxes, count, IN_FLIGHT);
  await sandboxes.close();
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const columns = ["commands", "failed", "unconfirmed", "descendants"] as const;
  const totals = columns.map((column) => all.reduce((sum, each) => sum + each[column], 0));
  console.log(`\n${isolation}:\n`);
  console.log("| descendants | commands | did not run | end not confirmed | left after 100 ms |");
  console.log("|---|--:|--:|--:|--:|");
  for (const each of all)
    console.log(`| ${each.way} | ${columns.map((column) => each[column]).join(" | ")} |`);
  console.log(`| all, in ${seconds} s | ${totals.join(" | ")} |`);
  const left = launchersLeft();
  console.log(`\nLaunchers that are left: ${left}`);
  const [commands = 0, ...problems] = totals;
  if (commands === 0 || [...problems, left].some((problem) => problem > 0)) process.exitCode = 1;
}

function shorten(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 160);
}
