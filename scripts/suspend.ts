/**
 * `npm run test:suspend`: programs whose processes are killed with -9 while they wait, suspended programs that were changed,
 * and many that are suspended at the same time: a sample, or with `--long` 10,000 programs and 100,000 changes.
 * `--restate` only kills processes, whose stores are on a node of Restate, `--kills` only kills processes. `--programs=COUNT`
 * and `--changes=COUNT` choose other numbers, `SANDGATE_SUSPEND_SEED` the seed of the first program: 10,000 programs are
 * also four runs with `--kills --programs=2500` and the seeds 1, 2501, 5001 and 7501. Needs `--expose-gc` to measure memory.
 */
import { parseArgs } from "node:util";
import { type FuzzReport, fuzzHeaps, fuzzStored } from "../test/programs/suspension/fuzz.ts";
import { type KillMoment, runKills } from "../test/programs/suspension/kill/run-kills.ts";
import { suspendMany } from "../test/programs/suspension/many.ts";
import { startRestateStores } from "../test/restate/store/restate-stores.ts";

/** Bytes that 1,000 suspended programs may take. */
const MAX_BYTES = 20 * 1_024 * 1_024;

const { values: options } = parseArgs({
  options: {
    long: { type: "boolean" },
    programs: { type: "string" },
    changes: { type: "string" },
    restate: { type: "boolean" },
    kills: { type: "boolean" },
  },
});
const isLong = options.long === true;
const seed = Number(process.env["SANDGATE_SUSPEND_SEED"] ?? "1");
const programs = Number(options.programs ?? (isLong ? 10_000 : 12));
const changes = Number(options.changes ?? (isLong ? 100_000 : 340));
const many = isLong ? 1_000 : 100;

let faultCount = 0;
function report(faults: readonly string[]): void {
  faultCount += faults.length;
  for (const fault of faults.slice(0, 5)) console.log(`  ${fault}`);
}

async function kill(count: number, moment: KillMoment, restate?: string): Promise<void> {
  const { kills, interruptions, interrupted, faults } = await runKills(count, seed, moment, {
    restate,
    onProgress: ({ programs: ended, interruptions, faults: wrong }) => {
      const seconds = Math.round(process.uptime());
      console.log(
        `  ${ended} of ${count} after ${seconds} s: ${interruptions} interruptions, ${wrong.length} went wrong`,
      );
    },
  });
  const where = restate === undefined ? "" : " with stores on Restate";
  console.log(
    `${count} programs${where}, killed (-9) ${moment}: ${kills} processes killed, ${interruptions} times a waiting program in them, ${interrupted} ended as interrupted, ${faults.length} went wrong`,
  );
  report(faults);
}

async function killOnRestate(): Promise<void> {
  await using stores = await startRestateStores();
  await kill(programs, "at every await", stores.node.ingress);
}

function reportFuzz(what: string, { tried, refused, faults }: FuzzReport): void {
  console.log(`${tried} ${what}: ${refused} refused or failed, ${faults.length} went wrong`);
  report(faults);
}

if (options.restate === true) {
  await killOnRestate();
  process.exit(faultCount > 0 ? 1 : 0);
}
await kill(programs, "at every await");
if (isLong) await kill(Math.ceil(programs / 50), "at any moment");
if (options.kills === true) process.exit(faultCount > 0 ? 1 : 0);
reportFuzz("changes of what is stored", await fuzzStored(changes, seed));
reportFuzz("heaps that were changed with the key", await fuzzHeaps(Math.ceil(changes / 10), seed));
const { storedBytes, memoryBytes } = await suspendMany(many);
const [stored, inMemory] = [storedBytes, memoryBytes].map((bytes) => (bytes / 1_024 / 1_024).toFixed(1));
console.log(`${many} programs at the same time: ${stored} MiB stored, ${inMemory} MiB of memory`);
if ((storedBytes / many) * 1_000 > MAX_BYTES) report(["the store is too large"]);
process.exit(faultCount > 0 ? 1 : 0);
