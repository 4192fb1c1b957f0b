import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { ownFiles } from "../../src/supervisor/supervisor.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-own-")));
afterAll(() => rmSync(root, { recursive: true }));
for (const path of ["home/eve/agent", "bin"]) mkdirSync(join(root, path), { recursive: true });
symlinkSync(join(root, "home/eve"), join(root, "link"));
for (const [path, mode] of [
  ["bin/tool", 0o755],
  ["bin/text", 0o644],
  ["home/eve/agent/run", 0o755],
] as const)
  writeFileSync(join(root, path), "\x7fELF", { mode });

afterEach(() => void vi.unstubAllEnvs());

describe("The folder of a confined agent", () => {
  test.each([
    "/",
    "home",
    "home/eve",
    "link",
    "home/../home/eve/",
  ])("is not '%s': it holds a home directory", (path) => {
    vi.stubEnv("HOME", join(root, "home/eve"));
    const cwd = path === "/" ? path : join(root, path);
    expect(() => ownFiles("/bin/sh", cwd)).toThrow("holds a home directory: start it in a folder of its own");
  });

  test("can be below a home directory, and is all that the agent sees", () => {
    vi.stubEnv("HOME", join(root, "home/eve"));
    const folder = join(root, "home/eve/agent");
    const { command, fs } = ownFiles("./run", join(root, "link/agent"));
    expect(command).toBe(join(folder, "run"));
    expect(fs).toEqual([{ directory: folder, at: folder }]);
  });

  test("must exist", () => {
    expect(() => ownFiles("/bin/sh", join(root, "missing"))).toThrow("does not exist");
  });
});

describe("The program of a confined agent", () => {
  test("is a file of its own if it is neither the system's nor in the agent's folder", () => {
    vi.stubEnv("PATH", `relative:${join(root, "bin")}`);
    const program = join(root, "bin/tool");
    expect(ownFiles("tool", undefined)).toEqual({ command: program, fs: [{ file: program, at: program }] });
    expect(ownFiles("/bin/sh", undefined).fs).toEqual([]);
  });

  test.each(["text", "missing"])("must be executable: '%s' is not found", (name) => {
    vi.stubEnv("PATH", join(root, "bin"));
    expect(() => ownFiles(name, undefined)).toThrow(`the program '${name}' was not found`);
  });
});
