/**
 * `npm run bench:microvm-phases [-- ROUNDS]`: where the time of a call in a virtual machine goes, as medians, with the least
 * in brackets. A machine that maps its memory and one that reads it take turns, without the dispatch.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { awaitLine, startMessage } from "../../src/sandboxes/microvm/control-port.ts";
import type { Machine, SavedMachine } from "../../src/sandboxes/microvm/machine.ts";
import { rehearse } from "../../src/sandboxes/microvm/machine-pool.ts";
import { reportReader } from "../../src/sandboxes/microvm/microvm-call.ts";
import { MICROVM_DEFAULTS } from "../../src/sandboxes/microvm/microvm-limits.ts";
import { QemuBackend } from "../../src/sandboxes/microvm/qemu/qemu-backend.ts";
import { defaultCacheDirectory } from "../../src/sandboxes/microvm/qemu/state-cache.ts";

const TEXT = '{"text":"hello"}\n';

/** Milliseconds of the phases of one call. */
type Phases = Readonly<Record<"spawned" | "output" | "report" | "ended" | "all", number>>;

async function callOnce(saved: SavedMachine, isReady: boolean): Promise<Phases> {
  let startedAt = performance.now();
  const machine = saved.restore();
  let spawned = performance.now() - startedAt;
  if (isReady) {
    await succeed(machine, rehearse(machine));
    startedAt = performance.now();
    spawned = 0;
  }
  const since = (): number => performance.now() - startedAt;
  const token = randomBytes(16).toString("hex");
  const { memoryBytes, processes } = MICROVM_DEFAULTS;
  const reported = awaitLine(machine.control, reportReader(token));
  let text = "";
  let output = 0;
  machine.output.on("data", (chunk: Buffer) => {
    if (text === "") output = since();
    text += chunk.toString();
  });
  for (const stream of [machine.output, machine.errors]) stream.resume();
  machine.control.write(startMessage({ token, command: "cat", args: [], memoryBytes, processes, env: {} }));
  machine.input.end(TEXT);
  await succeed(machine, reported);
  const report = since();
  machine.kill();
  await machine.ended;
  const all = since();
  if (text !== TEXT) throw new Error(`the program wrote ${JSON.stringify(text)}`);
  return { spawned, output: output - spawned, report: report - output, ended: all - report, all };
}

async function succeed(machine: Machine, result: Promise<unknown>): Promise<void> {
  const found = await Promise.race([result, machine.ended.then(({ errors }) => new Error(errors))]);
  if (found instanceof Error) throw found;
  if (!found) throw new Error("the machine did not answer");
}

function middle(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return `${sorted[sorted.length >> 1]?.toFixed(1)} (${sorted[0]?.toFixed(1)})`;
}

const rounds = Number(process.argv[2] ?? 10);
if (!(rounds >= 1)) throw new Error("the number of rounds must be at least 1");
const directory = mkdtempSync(join(tmpdir(), "microvm-phases-"));
const options = { accelerator: "tcg", cacheDirectory: defaultCacheDirectory() } as const;
const backends = {
  "maps its memory": new QemuBackend(options),
  "reads its memory": new QemuBackend({ ...options, maxSealedBytes: 0 }),
};
try {
  const cases = [];
  for (const [name, backend] of Object.entries(backends)) {
    const saved = await backend.save(directory, MICROVM_DEFAULTS.memoryBytes);
    for (const isReady of [false, true]) cases.push({ name, saved, isReady, seen: [] as Phases[] });
  }
  // The first round reads files that are not in memory.
  for (let round = 0; round <= rounds; round++)
    for (const { saved, isReady, seen } of cases) {
      const phases = await callOnce(saved, isReady);
      if (round > 0) seen.push(phases);
    }
  console.log("ms: spawn; until the first output; until the report; until QEMU has ended; all");
  for (const { name, isReady, seen } of cases) {
    const columns = (["spawned", "output", "report", "ended", "all"] as const).map((phase) =>
      middle(seen.map((phases) => phases[phase])),
    );
    console.log(`${name}, ${isReady ? "kept ready" : "restored"}: ${columns.join("; ")}`);
  }
} finally {
  for (const backend of Object.values(backends)) await backend.close();
  rmSync(directory, { recursive: true });
}
