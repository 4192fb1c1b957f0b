import { execFile } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { StagedChanges } from "../../../src/changes/staged-changes.ts";
import { ChangesTree, snapshotOf } from "../changes-tree.ts";

const CHILD = join(import.meta.dirname, "kill-child.ts");

/** How many children run at once. */
const CHILDREN = 3;

/** Whether children are killed at all steps. Otherwise, at each of the first and last, and a sample of those between. */
const KILLS_AT_ALL = process.env["SANDGATE_KILLS"] === "all";
/** How many steps at each end are all tried. */
const ENDS = 20;
/** Of how many other steps one is tried: not always the same one. */
const STRIDE = 5;

function chosenSteps(count: number): readonly number[] {
  const offset = Math.floor(Math.random() * STRIDE);
  return Array.from({ length: count }, (_, step) => step).filter(
    (step) => KILLS_AT_ALL || step < ENDS || step >= count - ENDS || step % STRIDE === offset,
  );
}

interface Accepted {
  readonly root: string;
  /** Empty if the child was killed. */
  readonly output: string;
}

/** Accepts the changes of a copy in a child process, which is killed at one of its steps. */
function accept(prepared: string, killAt: number): Promise<Accepted> {
  const root = join(realpathSync(mkdtempSync(join(tmpdir(), "sandgate-kill-"))), "root");
  cpSync(prepared, root, { recursive: true, preserveTimestamps: true });
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [CHILD, root, String(killAt)], (error, output, stderr) => {
      if (stderr !== "" || (error !== null && error.signal !== "SIGKILL")) reject(new Error(stderr));
      else resolve({ root, output });
    });
  });
}

test("kill -9 at a step of accepting 50 files leaves all as before or all as after", async () => {
  const start: Record<string, string> = {};
  for (let index = 0; index < 30; index++) start[`d${index % 3}/${index}.txt`] = `old ${index}\n`;
  await using tree = new ChangesTree({ ...start, "gone/x.txt": "X", "gone/y.txt": "Y" });
  chmodSync(join(tree.root, "d0/0.txt"), 0o750);
  const files = tree.files();
  for (const path of Object.keys(start)) await files.write(path, `new of ${path}\n`);
  await files.mkdir("made");
  await files.mkdir("made/below");
  for (let index = 0; index < 18; index++) await files.write(`made/below/${index}.txt`, `made ${index}\n`);
  for (const path of ["gone/x.txt", "gone/y.txt", "gone"]) await files.delete(path);
  // 30 + 18 + 2 files, and 3 directories.
  expect(await tree.changes.pending()).toHaveLength(53);
  const before = tree.snapshot();
  await tree.reopen();

  const whole = await accept(tree.root, -1);
  const steps = Number(whole.output);
  const after = snapshotOf(whole.root);
  expect(after).not.toEqual(before);
  expect(after["d0/0.txt"]).toBe("750 new of d0/0.txt\n");
  expect(steps).toBeGreaterThan(50);
  rmSync(whole.root, { recursive: true });

  const outcomes = { before: 0, after: 0, mixedUntilRecovered: 0 };
  const check = async ({ root, output }: Accepted): Promise<void> => {
    expect(output).toBe("");
    const left = JSON.stringify(snapshotOf(root));
    const changes = new StagedChanges(root, "session");
    const found = snapshotOf(root);
    const isAfter = "made/" in found;
    expect(found).toEqual(isAfter ? after : before);
    expect((await changes.pending()).length).toBe(isAfter ? 0 : 53);
    // All of it can be accepted still, with the same result.
    if (!isAfter) expect(await changes.acceptAll()).toMatchObject({ conflicts: [] });
    expect(snapshotOf(root)).toEqual(after);
    expect(readdirSync(join(root, ".sandgate/changes/session/contents"))).toEqual([]);
    outcomes[isAfter ? "after" : "before"]++;
    if (left !== JSON.stringify(before) && left !== JSON.stringify(after)) outcomes.mixedUntilRecovered++;
    await changes.close();
    rmSync(join(root, ".."), { recursive: true });
  };
  const waiting = [...chosenSteps(steps)];
  console.log(`killed at ${waiting.length} of ${steps} steps: ${waiting.join(" ")}`);
  const work = async (): Promise<void> => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift())
      await check(await accept(tree.root, step));
  };
  await Promise.all(Array.from({ length: CHILDREN }, work));
  expect(outcomes.before).toBeGreaterThan(0);
  expect(outcomes.after).toBeGreaterThan(30);
  // Else nothing was put to the test.
  expect(outcomes.mixedUntilRecovered).toBeGreaterThan(30);
}, 300_000);
