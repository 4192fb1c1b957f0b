import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { COMMANDS, parseCommandLine } from "../../../src/cli/run.ts";
import { createFolder } from "../../cli/sandgate.ts";
import { ISOLATIONS, withoutFallbackNote } from "../../sandboxes/process/availability.ts";

const root = dirname(dirname(dirname(import.meta.dirname)));
const text = readFileSync(`${root}/docs/supervisor.md`, "utf8");
const generated = `${root}/.cache/docs-supervisor`;
afterAll(() => rmSync(generated, { recursive: true, force: true }));

const FILES = Object.fromEntries(
  Array.from(text.matchAll(/^```\w+ file=(\S+)\n(.*?)^```$/gms), ([, name = "", content = ""]) => [
    name,
    content,
  ]),
);
const [, commands = ""] = /^```sh\n(.*?)^```$/ms.exec(text) ?? [];

describe.skipIf(ISOLATIONS.length === 0)("docs/supervisor.md", () => {
  test.each([
    ["node agent.mjs", "hello"],
    ["python3 agent.py", "fs_denied"],
  ])("has an agent that is run by %s", async (program, printed) => {
    const line = commands.split("\n").find((each) => each.endsWith(program)) ?? "";
    const argv = line.split(" ").slice(1);
    expect(parseCommandLine(argv, COMMANDS)).toMatchObject({ name: "supervise" });
    const folder = await createFolder({ ...FILES, "data/notes.txt": "notes" });
    const args = ["--no-warnings", join(root, "src/cli/main.ts"), ...argv];
    const { stderr, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    if (program.startsWith("python3") && !existsSync("/usr/bin/python3"))
      return console.warn("The agent in Python is skipped: there is no /usr/bin/python3");
    expect(withoutFallbackNote(stderr)).toBe(`${printed}\n`);
    expect(status).toBe(0);
  });

  test("has a program that supervises an agent", async () => {
    const [, program = ""] = /^```ts\n(.*?)^```$/ms.exec(text) ?? [];
    mkdirSync(generated, { recursive: true });
    writeFileSync(`${generated}/program.ts`, program);
    writeFileSync(`${generated}/agent.mjs`, FILES["agent.mjs"] ?? "");
    const lines: unknown[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line) => lines.push(line));
    await import(`${generated}/program.ts`).finally(() => log.mockRestore());
    expect(lines.filter((line) => withoutFallbackNote(`${line}\n`) !== "")).toEqual(["hello", 0]);
  });
});
