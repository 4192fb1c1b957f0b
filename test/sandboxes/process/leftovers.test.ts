import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeTemporaryDirectory, processMark } from "../../../src/base/temporary-directory.ts";
// Inside: looks into the directory of cgroups for those that a killed process left.
import { Cgroups } from "../../../src/sandboxes/process/cgroups.ts";
import { ISOLATIONS } from "./availability.ts";

const OPEN = resolve(import.meta.dirname, "../../../src/sandboxes/open-sandboxes.ts");
const MINUTE = { timeout: 60_000 };

/** The program of a process that starts a program with limits in a folder for temporary files, and says so. */
const program = (isolation: string): string => `
  import { openSandboxes } from ${JSON.stringify(OPEN)};
  const sandboxes = await openSandboxes({ process: { isolation: "${isolation}" } });
  const options = { command: "cat", fs: [], limits: JSON.parse(process.argv[1]) };
  const program = await sandboxes.startConfinedProgram(options);
  for (const stream of [program.stdout, program.stderr]) stream.resume();
  await program.pid;
  console.log("started");
  if (process.argv[2] === "end") await sandboxes.close();
`;

const cgroups = new Cgroups();
const limits = JSON.stringify(typeof cgroups.pids === "string" ? {} : { processes: 20 });
if (typeof cgroups.pids === "string") console.warn(`Cgroups that are left are not tested: ${cgroups.pids}`);

const leftCgroups = (pid: number): readonly string[] =>
  typeof cgroups.pids === "string"
    ? []
    : readdirSync(cgroups.pids.directory).filter((name) => name.includes(`-${pid}-`));

test.each(ISOLATIONS)(
  "What a process leaves that is killed is removed by the next (%s)",
  MINUTE,
  async (isolation) => {
    const folder = mkdtempSync(join(tmpdir(), "leftovers-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const start = (...words: readonly string[]) =>
      spawn(
        process.execPath,
        ["--no-warnings", "--input-type=module", "-e", program(isolation), limits, ...words],
        {
          env: { ...process.env, TMPDIR: folder },
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
    const first = start();
    await once(first.stdout, "data");
    const pid = first.pid as number;
    expect(readdirSync(folder).length).toBeGreaterThan(0);
    if (limits !== "{}") expect(leftCgroups(pid).length).toBeGreaterThan(0);
    first.kill("SIGKILL");
    await once(first, "close");
    // The kernel ends its programs with it.
    await vi.waitFor(
      async () => {
        const next = start("end");
        expect(await once(next, "close")).toEqual([0, null]);
        expect(readdirSync(folder)).toEqual([]);
        expect(leftCgroups(pid)).toEqual([]);
      },
      { timeout: 40_000, interval: 200 },
    );
  },
);

test("Only directories of this user are removed, of processes that are gone", MINUTE, async () => {
  const folder = mkdtempSync(join(tmpdir(), "leftovers-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [namespace] = processMark().split("-");
  const gone = `${namespace}-${execFileSync("sh", ["-c", "echo $$"], { encoding: "utf8" }).trim()}-1`;
  mkdirSync(join(folder, "target"));
  writeFileSync(join(folder, "target/file"), "MINE");
  const kept = [
    `sandgate-tmp-${processMark()}-aaaaaa`,
    `sandgate-tmp-1${gone}-aaaaaa`,
    `sandgate-tmp-${gone}-aaaaaa-more`,
    `sandgate-${gone}-aaaaaa`,
    `sandgate-tmp-${gone}`,
    `sandgate-tmp-${namespace}-${process.pid}-x-aaaaaa`,
    "sandgate-workspace-aaaaaa",
  ];
  for (const name of kept) mkdirSync(join(folder, name));
  symlinkSync("target", join(folder, `sandgate-tmp-${gone}-link11`));
  writeFileSync(join(folder, `sandgate-tmp-${gone}-file11`), "");
  mkdirSync(join(folder, `sandgate-tmp-${gone}-bbbbbb`));
  symlinkSync("../target", join(folder, `sandgate-tmp-${gone}-bbbbbb/link`));
  if (process.getuid?.() === 0) {
    mkdirSync(join(folder, `sandgate-tmp-${gone}-others`));
    chownSync(join(folder, `sandgate-tmp-${gone}-others`), 65_534, 65_534);
  }
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.resetModules();
  const fresh = await import("../../../src/base/temporary-directory.ts");
  const own = fresh.makeTemporaryDirectory("tmp");
  expect(own).toContain(`sandgate-tmp-${processMark()}-`);
  await vi.waitFor(() => expect(existsSync(join(folder, `sandgate-tmp-${gone}-bbbbbb`))).toBe(false));
  expect(readFileSync(join(folder, "target/file"), "utf8")).toBe("MINE");
  for (const name of [...kept, `sandgate-tmp-${gone}-file11`])
    expect(existsSync(join(folder, name)), name).toBe(true);
  expect(readdirSync(folder)).toContain(`sandgate-tmp-${gone}-link11`);
  if (process.getuid?.() === 0) expect(readdirSync(folder)).toContain(`sandgate-tmp-${gone}-others`);
  // It looks once only.
  mkdirSync(join(folder, `sandgate-tmp-${gone}-cccccc`));
  rmSync(makeTemporaryDirectory("tmp"), { recursive: true });
  expect(readdirSync(folder)).toContain(`sandgate-tmp-${gone}-cccccc`);
});
