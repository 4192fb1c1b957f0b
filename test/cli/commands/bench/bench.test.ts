import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createFolder, PROJECT, sandgate, type TerminalOptions } from "../../sandgate.ts";

const CALLS = JSON.stringify([
  { id: "1", name: "add", arguments: { a: 1, b: 2 } },
  { id: "2", name: "forbidden", arguments: {} },
]);

/** Runs `sandgate bench` in a folder with {@link PROJECT} and a message. */
async function bench(
  args: readonly string[],
  { calls = CALLS, folder, ...options }: TerminalOptions & { calls?: string; folder?: string } = {},
): Promise<Awaited<ReturnType<typeof sandgate>> & { readonly folder: string }> {
  const place = folder ?? (await createFolder({ ...PROJECT, "calls.json": calls }));
  const given = args.map((arg) => (arg.endsWith(".json") ? join(place, arg) : arg));
  const argv = ["bench", join(place, "calls.json"), "-c", join(place, "sandgate.yaml"), ...given];
  return { ...(await sandgate(argv, options)), folder: place };
}

const FEW = ["--calls", "40", "--warm-up", "0", "--allow-effects"];

test("prints how many calls ended with which outcome, and how long they took", async () => {
  const { code, stdout, stderr } = await bench(FEW);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^40 calls, 1 at once: [0-9.]+ calls\/s, 50% failed$/m);
  expect(stdout).toMatch(/^ +20 {2}ok \(host\)$/m);
  expect(stdout).toMatch(/^ +20 {2}permission_denied \(no sandbox\)$/m);
  expect(stdout).toMatch(/^ +p50 +p90 +p99 +p99\.9 +max$/m);
  expect(stdout).toMatch(/< [0-9.]+ ms +[0-9]+ █+$/m);
});

test("says so if it measured nothing but denials", async () => {
  const calls = JSON.stringify([{ id: "1", name: "forbidden", arguments: {} }]);
  expect(await bench(FEW, { calls })).toMatchObject({
    code: 0,
    stderr:
      "no call reached a sandbox (permission_denied (no sandbox)): the figures say how fast calls are refused, and nothing about the tools\n",
  });
});

test("makes calls at a rate, and counts their time from when they were to begin", async () => {
  const slow = "export const add = () => new Promise((resolve) => setTimeout(resolve, 100, 1));";
  const files = {
    ...PROJECT,
    "calls.json": JSON.stringify([{ id: "1", name: "add", arguments: { a: 1, b: 2 } }]),
  };
  const folder = await createFolder({
    ...files,
    "tools/host.mjs": `${slow} export const wait = add, broken = add;`,
  });
  const args = ["--rate", "200", "--duration", "300ms", "--warm-up", "0", "--json"];
  const { code, stdout } = await bench(args, { folder });
  const { load, latencyMs, outcomes, histogram } = JSON.parse(stdout);
  expect(code).toBe(0);
  // The calls overlap: at one at once, there would be three.
  expect(load).toEqual({ rate: 200, calls: 60 });
  expect(outcomes).toEqual({ "ok (host)": 60 });
  expect(latencyMs.p50).toBeGreaterThan(90);
  expect(histogram.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(60);
});

test("exits with 1 if a figure is above its maximum, and says which", async () => {
  const failed = await bench([...FEW, "--max-failed", "10%"]);
  expect(failed).toMatchObject({ code: 1, stderr: "50% of the calls failed: more than 10%\n" });
  const slow = await bench([...FEW, "--max-p99", "1h", "--max-p50", "1h", "--max-failed", "50%"]);
  expect(slow).toMatchObject({ code: 0, stderr: "" });
});

test("compares a result with one that was kept", async () => {
  const { folder } = await bench([...FEW, "--save", "before.json"]);
  const kept = JSON.parse(await readFile(join(folder, "before.json"), "utf8"));
  expect(kept).toMatchObject({ format: "sandgate-bench/1", failed: 0.5 });
  const { stdout } = await bench([...FEW, "--compare", "before.json"], { folder });
  expect(stdout).toMatch(/^before +[0-9.]+/m);
  expect(stdout).toMatch(/^ratio +([0-9.]+ × *|- *){5}$/m);
  await writeFile(
    join(folder, "before.json"),
    JSON.stringify({ ...kept, machine: { ...kept.machine, cpu: "other" } }),
  );
  const other = await bench([...FEW, "--compare", "before.json"], { folder });
  expect(other.stdout).toContain("the earlier result is from another machine or Node.js (other,");
});

test("refuses to repeat calls that do more than reading", async () => {
  const calls = JSON.stringify([{ id: "1", name: "broken", arguments: {} }]);
  const { code, stderr } = await bench(["--calls", "5"], { calls });
  expect(code).toBe(2);
  expect(stderr).toContain("the tool 'broken' is of class 'destructive', and its calls would be repeated");
  expect(stderr).toContain("--allow-effects");
});

test.each([
  [["--rate", "0"], "--rate must be a whole number from 1 to 1000000, not '0'"],
  [["--concurrency", "many"], "--concurrency must be a whole number"],
  [["--duration", "soon"], "--duration must be a duration"],
  [["--max-failed", "101%"], "--max-failed must be a share such as 1% or 0.5%, not '101%'"],
  [["--rate", "5", "--concurrency", "5"], "--concurrency and --rate cannot be used together"],
  [["--compare", "missing.json"], "missing.json cannot be read"],
  [["--compare", "calls.json"], "is not a result that sandgate bench --save wrote"],
])("refuses %j with a sentence", async (args, message) => {
  const { code, stdout, stderr } = await bench(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});

test("refuses a message without calls", async () => {
  const { code, stderr } = await bench(["--calls", "1"], {
    calls: JSON.stringify({ role: "assistant", toolCalls: [] }),
  });
  expect(code).toBe(2);
  expect(stderr).toContain("the message has no tool calls");
});

test("stops when the user interrupts", async () => {
  const calls = JSON.stringify([{ id: "1", name: "wait", arguments: {} }]);
  const signal = AbortSignal.timeout(200);
  const { code, stdout } = await bench(["--duration", "1h", "--allow-effects"], { calls, signal });
  expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
});

test("shows on a terminal how long it goes on, and clears it", async () => {
  const { stderr } = await bench(FEW, { isTTY: true, columns: 80 });
  expect(stderr).toContain("measuring, ");
  expect(stderr.endsWith("\r\u001b[K")).toBe(true);
});
