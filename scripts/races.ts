/**
 * `npm run test:races`: races answers, crashes and changes, in a sample of interleavings, or with `--long` in 50,000 and
 * with 1,000 kills of a process (-9). With `--kills=COUNT`, only so many kills. `SANDGATE_RACES_SEED` chooses the sample. Prints a table of what went wrong. With `--peers`, other libraries play the vectors (see
 * test/races/peers/race-peers.ts).
 */
import { parseArgs } from "node:util";
import { FAULTS } from "../test/races/check.ts";
import { runKills } from "../test/races/kill/run-kills.ts";
import { racePeers } from "../test/races/peers/race-peers.ts";
import { type ClassResult, runInterleavings } from "../test/races/run.ts";
import { SessionsSubject } from "../test/races/sessions-subject.ts";

const { values: options } = parseArgs({
  options: { long: { type: "boolean" }, peers: { type: "boolean" }, kills: { type: "string" } },
});
const isLong = options.long === true;
const seed = Number(process.env["SANDGATE_RACES_SEED"] ?? "1");
if (options.peers === true) {
  await racePeers(isLong ? 200 : 20, seed);
  process.exit();
}
const interleavings = isLong ? 50_000 : 2_000;
const kills = Number(options.kills ?? (isLong ? 1_000 : 20));

let faultCount = 0;
/** Prints the first few interleavings that went wrong. */
function report(what: string, faults: readonly string[], log: readonly string[]): void {
  if (faultCount++ < 5) console.log(`${what}: ${faults.join(", ")}\n  ${log.join("\n  ")}`);
}

if (options.kills === undefined) {
  const results = await runInterleavings(
    interleavings,
    seed,
    (store, world) => new SessionsSubject(store, world),
    (vector, at, faults, log) => report(`${vector.class}, seed ${at}`, faults, log),
  );
  print(`${interleavings} interleavings in one process, seed ${seed}`, results);
}
const killed = await runKills(kills, seed, (vector, at, faults) =>
  report(`${vector.class}, seed ${at}, kill -9`, faults, []),
);
print(`${killed.kills} kills (-9), seed ${seed}`, killed.results);
if (faultCount > 0) console.log(`\n${faultCount} went wrong`);

// The sessions of crashed processes still have timers.
process.exit(faultCount > 0 ? 1 : 0);

function print(title: string, rows: readonly ClassResult[]): void {
  console.log(`\n${title}:\n\n| class | interleavings | runs | ${FAULTS.join(" | ")} |`);
  console.log(`|---|--:|--:|${FAULTS.map(() => "--:").join("|")}|`);
  for (const { class: name, interleavings: count, runs, faults } of rows) {
    console.log(`| ${name} | ${count} | ${runs} | ${FAULTS.map((fault) => faults[fault]).join(" | ")} |`);
  }
}
