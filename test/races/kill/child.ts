/** Plays a vector over a file. Its crashes kill this process (-9), and so does a timer. Another process goes on. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { SqliteSessionStore } from "../../../src/sessions/store/sqlite-store.ts";
import { Random } from "../../guests/fuzz/random.ts";
import { type Disk, interleave, type Progress } from "../interleave.ts";
import { SessionsSubject } from "../sessions-subject.ts";
import type { OpenConfirmation } from "../subject.ts";
import { type PolicyVersion, readVectors, type Vector } from "../vector.ts";
import { type Run, World } from "../world.ts";
import type { Line } from "./line.ts";

const [folder = "", vectorIndex = "", seed = "", mayKill = ""] = process.argv.slice(2);
const linesFile = join(folder, "lines.jsonl");
const vector = readVectors()[Number(vectorIndex)] as Vector;
const actors = vector.actors.map(() => ({ taken: 0, seen: [] as OpenConfirmation[] }));
/** The policy is outside of the process that was killed. */
let policy: PolicyVersion = "same";
for (const line of readLines()) {
  const actor = "actor" in line ? actors[line.actor] : undefined;
  if (actor === undefined || !("actor" in line)) continue;
  const step = vector.actors[line.actor]?.[actor.taken++];
  if (step?.do === "policy") policy = step.to;
  if (line.seen !== undefined) actor.seen.push(line.seen);
}
const progress: Progress = {
  actors,
  take: (actor, seen) => write({ actor, ...(seen !== undefined && { seen }) }),
};
const disk: Disk = {
  hasPending: false,
  sync: () => {},
  crash: () => process.kill(process.pid, "SIGKILL"),
  open: () => new SqliteSessionStore(join(folder, "store.db")),
};
const world = new World(await openSandboxes(), (run: Run) => write({ run }));
world.policy = policy;
if (mayKill === "yes") setTimeout(disk.crash, new Random(Number(seed)).below(12));
const { hasEnded, log } = await interleave(
  vector,
  Number(seed),
  { openSubject: (store, itsWorld) => new SessionsSubject(store, itsWorld), world, disk },
  progress,
);
write({ hasEnded, log });
process.exit(0);

/** Written at once, so that a kill loses none of it. */
function write(line: Line): void {
  appendFileSync(linesFile, `${JSON.stringify(line)}\n`);
}

function readLines(): readonly Line[] {
  if (!existsSync(linesFile)) return [];
  const lines = readFileSync(linesFile, "utf8").trim().split("\n");
  return lines.filter((line) => line !== "").map((line): Line => JSON.parse(line));
}
