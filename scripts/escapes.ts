/**
 * `npm run test:escapes`: programs in the process sandbox try to get out, in every way that `test/escapes/attempts` has.
 * Prints a table of the attempts, of their controls, which must succeed, and of those that got out. Options: words that
 * the names of attempts must contain.
 */
import { availableParallelism } from "node:os";
import { openSandboxes } from "../src/sandboxes/open-sandboxes.ts";
import { FILES } from "../test/escapes/attempts/files.ts";
import { KERNEL } from "../test/escapes/attempts/kernel.ts";
import { OTHERS } from "../test/escapes/attempts/others.ts";
import { type Result, runAttempt } from "../test/escapes/run.ts";
import { Tools } from "../test/escapes/tools.ts";
import { unavailable } from "../test/sandboxes/process/availability.ts";

/** The attempts that must have been made, where the compiler and the privileges for their controls are there. */
const LEAST = 150;

if (unavailable !== undefined) {
  console.log(`No attempt was made: ${unavailable}`);
  process.exit();
}
using tools = new Tools();
if (tools.problem !== undefined)
  console.log(`Attempts that need a C program were not made: ${tools.problem}`);
const words = process.argv.slice(2);
const all = [...FILES, ...KERNEL, ...OTHERS].filter(
  ({ group, name, script }) =>
    words.every((word) => `${group}: ${name}`.includes(word)) &&
    (tools.problem === undefined || !script.includes("$TOOLS")),
);
const sandboxes = await openSandboxes();
const results: Result[] = [];
const waiting = [...all];
await Promise.all(
  Array.from({ length: availableParallelism() + 1 }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      results.push(await runAttempt(next, sandboxes, tools.directory));
  }),
);
await sandboxes.close();

const counted = results.filter(({ noControl }) => noControl === undefined);
const out = results.filter((result) => result.out !== undefined);
for (const { attempt, noControl = "" } of results.filter((result) => result.noControl !== undefined))
  console.log(`no control here: ${attempt.group}: ${attempt.name}: ${shorten(noControl)}`);
for (const { attempt, out: how, printed } of out)
  console.log(`OUT: ${attempt.group}: ${attempt.name}: ${how}: ${shorten(printed)}`);
console.log("\n| attempts | made | with a control | out |\n|---|--:|--:|--:|");
for (const group of new Set(all.map((attempt) => attempt.group))) {
  const of = (list: readonly Result[]): number =>
    list.filter(({ attempt }) => attempt.group === group).length;
  console.log(`| ${group} | ${of(results)} | ${of(counted)} | ${of(out)} |`);
}
console.log(`| all | ${results.length} | ${counted.length} | ${out.length} |`);
const isWhole = words.length === 0 && tools.problem === undefined && process.getuid?.() === 0;
if (isWhole && counted.length < LEAST) console.log(`\nFewer than ${LEAST} attempts had a control.`);
process.exitCode = out.length > 0 || (isWhole && counted.length < LEAST) ? 1 : 0;

function shorten(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 160);
}
