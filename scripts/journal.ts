/**
 * `npm run test:journal`: edits of a journal are found and named, and a process that is killed leaves no effect without
 * its record. Runs a sample, or 10,000 edits and 1,000 crashes with `--long`, which takes about ten minutes.
 * `SANDGATE_JOURNAL_SEED` chooses other edits.
 */
import { parseArgs } from "node:util";
import { crash } from "../test/journal/crashes/crash.ts";
import { checkEdits } from "../test/journal/edits/check-edits.ts";

const { values } = parseArgs({ options: { long: { type: "boolean", default: false } } });
const EDITS = values.long ? 10_000 : 1_000;
const CRASHES = values.long ? 1_000 : 20;
const CALLS = 200;
const IN_FLIGHT = 4;
const seed = Number(process.env["SANDGATE_JOURNAL_SEED"] ?? 1);

const { missed, counts } = await checkEdits(EDITS, seed * 1_000_000);
for (const each of missed) console.log(JSON.stringify(each));
console.log(`${EDITS} edits, seed ${seed}: ${EDITS - missed.length} named, ${missed.length} missed`);
console.table(counts);

let isFailed = missed.length > 0;
const { steps, ...whole } = await crash(0, CALLS, IN_FLIGHT);
isFailed ||= isWrong(whole) || whole.effects !== CALLS;
const totals = { crashes: 0, effects: 0, unrecorded: 0, alarms: 0, endless: 0, torn: 0 };
for (let index = 0; index < CRASHES; index++) {
  const step = 1 + Math.floor((index * steps) / CRASHES);
  const report = await crash(step, CALLS, IN_FLIGHT);
  totals.crashes++;
  totals.effects += report.effects;
  totals.unrecorded += report.unrecorded.length;
  totals.alarms += report.alarms.length;
  totals.endless += report.endless.length;
  totals.torn += Number(report.isTorn);
  if (!isWrong(report)) continue;
  isFailed = true;
  console.log(`killed at step ${step}: ${JSON.stringify(report)}`);
}
console.log(`${CRASHES} crashes of ${CALLS} calls with ${steps} steps:`);
console.table([totals]);
process.exitCode = isFailed ? 1 : 0;

function isWrong({ unrecorded, alarms, endless }: Omit<Awaited<ReturnType<typeof crash>>, "steps">): boolean {
  return unrecorded.length > 0 || alarms.length > 0 || endless.length > 0;
}
