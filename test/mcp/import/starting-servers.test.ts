import { chmodSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { unavailable } from "../../sandboxes/process/availability.ts";
import { hostile, nodeServer, open } from "./open-hostile.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "sandgate-mcp-starting-")));

function scriptOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

describe.skipIf(unavailable !== undefined)("The operator learns what a server", () => {
  test("tried to reach, although it is granted no network", async () => {
    const script = scriptOf(
      "downloads.mjs",
      'await fetch("https://registry.example.com/a").catch((error) => console.error(error.message)); process.exit(1);',
    );
    await using opened = await open({ h: nodeServer(script), good: hostile("ok") });
    const refused =
      "The program's request was refused: the grant does not name the origin 'https://registry.example.com'";
    expect(opened.notices.map(({ kind, message }) => `${kind} ${message}`)).toContainEqual(
      expect.stringContaining(`problem ${refused}`),
    );
    expect(opened.registry.names).toEqual(["mcp_good_x"]);
  });

  test.each([
    ["v20.20.2", true],
    ["v22.20.0", true],
    ["v23.11.1", true],
    ["v24.4.1", true],
    ["v22.21.0", false],
    ["v24.5.0", false],
    ["v26.10.0", false],
    ["no version", false],
  ])("cannot reach because its Node.js uses no proxy (%s: %s)", async (version, isOld) => {
    const node = scriptOf("node", `#!/bin/sh\n[ "$1" = --version ] && echo ${version}\nexit 0\n`);
    const server = {
      command: "/opt/node",
      fs: [{ file: node, at: "/opt/node" }],
      net: [{ origin: "https://api.example.com" }],
    };
    await using opened = await open({ h: server });
    const problems = opened.notices.filter(({ kind }) => kind === "problem").map(({ message }) => message);
    const about = expect.stringContaining(`its Node.js is ${version.slice(1)}, which does not use the proxy`);
    if (isOld) expect(problems).toContainEqual(about);
    else expect(problems).not.toContainEqual(expect.stringContaining("its Node.js"));
  });
});

test("A server begins in a directory for work, and not in that of its packages, unless its `cwd` says so", async () => {
  for (const name of ["node_modules", "data", "notes"]) mkdirSync(join(folder, name));
  const script = scriptOf("where.mjs", "console.error(process.cwd()); process.exit(1);");
  const server = nodeServer(script);
  const granted = (name: string, write = false): { directory: string; at: string; write: boolean } => ({
    directory: join(folder, name),
    at: join(folder, name),
    write,
  });
  const packages = granted("node_modules");
  for (const [directories, cwd, expected] of [
    [[packages, granted("data")], undefined, "data"],
    [[packages, granted("data"), granted("notes", true)], undefined, "notes"],
    [[packages], undefined, "node_modules"],
    [[packages, granted("notes", true)], ".", "node_modules"],
  ] as const) {
    const fs = [...directories, ...(server.fs ?? [])];
    await using opened = await open({ h: { ...server, fs, ...(cwd !== undefined && { cwd }) } });
    const written = opened.notices.filter(({ kind }) => kind === "stderr").map(({ message }) => message);
    expect(written).toContain(join(folder, expected));
  }
});
