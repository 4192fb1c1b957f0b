import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ISOLATIONS } from "../../sandboxes/process/availability.ts";
import { createFolder, type Outcome, sandgate } from "../sandgate.ts";

const AGENT = join(import.meta.dirname, "../../supervisor/agents/agent.ts");

const CONFIG = `
toolsets: [basic]
agents:
  reader:
    tools: [Echo, Read]
    fs: [{ directory: data }]
    limits: { calls: 100 }
  other: { tools: [Echo] }
`;

async function folderWith(config: string): Promise<string> {
  const folder = await createFolder({ "sandgate.yaml": config, "data/notes.txt": "notes" });
  mkdirSync(join(folder, "empty"));
  return folder;
}

/** Runs the agent of the tests under `sandgate supervise`. */
async function supervise(config: string, mode: string, options: readonly string[] = []): Promise<Outcome> {
  const folder = await folderWith(config);
  process.env["SANDGATE_AGENT"] = mode.replaceAll("FOLDER", folder);
  const own = ["--config", join(folder, "sandgate.yaml"), "--env", "SANDGATE_AGENT", ...options];
  return sandgate(["supervise", ...own, "--", process.execPath, "--no-warnings", AGENT]).finally(() => {
    delete process.env["SANDGATE_AGENT"];
  });
}

const read = 'tool_call={"tool":"Read","args":{"path":"FOLDER/data/notes.txt"}}';

describe.skipIf(ISOLATIONS.length === 0)("sandgate supervise", () => {
  test("runs an agent of the config, whose paths are relative to the file", async () => {
    const { code, stderr } = await supervise(CONFIG, read, ["--agent", "reader"]);
    expect(stderr).toContain('"result":{"content":"notes","size":5}');
    expect(code).toBe(0);
  });

  test("gives it no more than the agent of its name has", async () => {
    const { stderr } = await supervise(CONFIG, read, ["--agent", "other"]);
    expect(stderr).toContain('"error":"permission_denied"');
  });

  test("narrows its grants to those of the policy", async () => {
    const policy = "policy: { rules: [{ tools: [Read], effect: allow, sandboxes: [host] }] }\n";
    const { stderr } = await supervise(`${CONFIG}${policy}`, read, ["--agent", "reader"]);
    expect(stderr).toContain("no files are granted to this tool");
  });

  test("takes the calls from descriptor 3", async () => {
    process.env["SANDGATE_FD"] = "3";
    const { code, stderr } = await supervise(CONFIG, "echo", [
      "-a",
      "other",
      "--fd",
      "3",
      "-e",
      "SANDGATE_FD",
    ]);
    delete process.env["SANDGATE_FD"];
    expect(stderr).toContain('"result":{"text":"hello"}');
    expect(code).toBe(0);
  });

  test("exits with the agent's code, and says if it does not confine it", async () => {
    const { code, stderr } = await supervise(CONFIG, "no such mode", ["-a", "other", "--unconfined"]);
    expect(code).toBe(3);
    expect(stderr).toContain("the agent is not confined: it can do everything that you can");
  });

  test("exits with 128 and the number of a signal", async () => {
    const { code } = await supervise(CONFIG, "crash", ["-a", "other"]);
    expect(code).toBe(137);
  });

  test("ends the agent when it is interrupted", async () => {
    const folder = await folderWith(CONFIG);
    const interruption = new AbortController();
    const config = join(folder, "sandgate.yaml");
    const agent = ["sh", "-c", "echo begun; exec sleep 1000000"];
    const { code } = await sandgate(["supervise", "-c", config, "-a", "other", "--", ...agent], {
      signal: interruption.signal,
      onStderr: (text) => text.includes("begun") && interruption.abort(),
    });
    expect(code).toBe(143);
  });

  test("ends an agent that has not begun when it is interrupted", async () => {
    const config = join(await folderWith(CONFIG), "sandgate.yaml");
    const { code } = await sandgate(["supervise", "-c", config, "-a", "other", "--", "sleep", "1000000"], {
      signal: AbortSignal.abort(),
    });
    // It may begin just then, and is asked to end first.
    expect([137, 143]).toContain(code);
  });

  test.each([
    ["an agent that the config does not have", ["--agent", "third"], "--agent must be one of reader, other"],
    ["no agent where there are several", [], "--agent must be one of reader, other"],
    ["another descriptor than 3", ["--agent", "other", "--fd", "4"], "--fd must be one of 3"],
  ])("exits with 2 for %s", async (_what, options, message) => {
    const { code, stderr } = await supervise(CONFIG, "echo", options);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  test("exits with 2 without an agent, and for a program that does not exist", async () => {
    const folder = await folderWith(CONFIG);
    const options = ["supervise", "-c", join(folder, "sandgate.yaml"), "-a", "other"];
    const none = await sandgate(options);
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("PROGRAM is missing: the agent, after --"),
    });
    const absent = await sandgate([...options, "--", "no-such-program"]);
    expect(absent).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("the program 'no-such-program' was not found"),
    });
  });

  test.each([
    ["an unknown capability", "agents: { a: { files: [] } }", "unknown key 'files'"],
    [
      "another shape of files",
      "agents: { a: { fs: [{ path: data, mode: w }] } }",
      "unknown key 'mode': write 'write: true' for 'rw'",
    ],
    ["an origin that is none", "agents: { a: { net: [example.com] } }", "must be an origin"],
    ["a pattern that is none", 'agents: { a: { tools: ["a b"] } }', "must have names of tools"],
  ])("exits with 2 for a config with %s", async (_what, agents, message) => {
    const { code, stderr } = await supervise(`toolsets: [basic]\n${agents}\n`, "echo");
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

test("a config with agents needs no policy for check, and does for dispatch", async () => {
  const folder = await folderWith(CONFIG);
  const config = join(folder, "sandgate.yaml");
  expect(await sandgate(["check", "-c", config])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("3 tools, 0 errors"),
  });
  expect(await sandgate(["dispatch", "-c", config], { stdin: "[]" })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("policy is missing"),
  });
});
