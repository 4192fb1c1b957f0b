import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const SRC = new URL("../../src/", import.meta.url).href;
/** The one file of the modules that do the work that parsing the command line needs. */
const FORMATS = "protocols/formats.ts";
/** What it needs: this imports nothing. */
const JSON_VALUES = "json/value.ts";
/** Where the version is read. It imports nothing, too. */
const PACKAGE_FOLDER = "base/package-folder.ts";
/** What finds the command that was meant, after a mistake. It imports nothing, too. */
const SUGGEST = "base/unknown-names.ts";
/** What prints: small files without dependencies. */
const RENDERING = /^rendering\/|^base\/text\.ts$/;

/** Writes the URL of each module that a process loads to standard error. */
const TELL_MODULES = `
import { registerHooks } from "node:module";
import { writeSync } from "node:fs";
registerHooks({ load(url, context, next) { writeSync(2, url + "\\n"); return next(url, context); } });
`;

/** Returns the modules that a command loads, without Node's. Our own are paths below `src`. */
async function modulesOf(...args: string[]): Promise<readonly string[]> {
  const hook = `data:text/javascript,${encodeURIComponent(TELL_MODULES)}`;
  const child = spawn(process.execPath, ["--import", hook, MAIN, ...args], { stdio: "pipe" });
  child.stdin.end();
  const [told] = await Promise.all([text(child.stderr), text(child.stdout)]);
  const urls = told.split("\n").filter((line) => line.startsWith("file:"));
  return urls.map((url) => (url.startsWith(SRC) ? url.slice(SRC.length) : url));
}

describe("the command loads", () => {
  test.each([
    ["--version"],
    ["--help"],
    ["check --help"],
    ["deploy"],
  ])("only the files of the command line and of rendering, and three or four of others, for %s", async (args) => {
    const modules = await modulesOf(...args.split(" "));
    expect(modules).toContain("cli/main.ts");
    const ours = modules.filter((path) => path.startsWith("cli/"));
    const others = modules.filter((path) => !path.startsWith("cli/") && !RENDERING.test(path));
    const expected = [FORMATS, JSON_VALUES, PACKAGE_FOLDER, ...(args === "deploy" ? [SUGGEST] : [])];
    expect(others.toSorted()).toEqual(expected.toSorted());
    // The definitions of the commands are loaded, and their code is not, nor what summarises arguments.
    expect(ours.filter((path) => path.startsWith("cli/commands/"))).toEqual([]);
    expect(ours.length).toBeLessThan(26);
    expect(modules).not.toContain("rendering/text-summary.ts");
  });

  test("no server for dispatch, and no protocols for check", async () => {
    const dispatch = await modulesOf("dispatch", "--config", "/nowhere.yaml");
    expect(dispatch).toContain("cli/commands/dispatch.ts");
    expect(dispatch.filter((path) => path.startsWith("executor/"))).toEqual([]);
    const check = await modulesOf("check", "--config", "/nowhere.yaml");
    expect(check).toContain("cli/commands/check/check.ts");
    expect(check.filter((path) => path.startsWith("protocols/"))).toEqual([FORMATS]);
  });
});
