import { realpathSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ISOLATIONS } from "../../../sandboxes/process/availability.ts";
import { createFolder, sandgate } from "../../sandgate.ts";
import { start } from "../../serve.ts";

const NODE = realpathSync(process.execPath);
const SERVER = fileURLToPath(new URL("../../../fixtures/mcp/hostile-server.mjs", import.meta.url));

/** A config with the hostile server in a mode. */
function config(mode: string, option = "", more = ""): string {
  return `
mcp:
  servers:
    h:
      command: ${NODE}
      args: [${SERVER}, ${mode}, ${JSON.stringify(option)}]
      fs:
        - { file: ${NODE}, at: ${NODE} }
        - { file: ${SERVER}, at: ${SERVER} }
sandboxes: { process: { isolation: ${ISOLATIONS[0]} } }
${more}
policy: { rules: [{ tools: ["mcp_h_x"], effect: allow, sandboxes: [remote] }] }
`;
}

const folderWith = (content: string): Promise<string> => createFolder({ "sandgate.yaml": content });
const run = (command: string, folder: string) =>
  sandgate([...command.split(" "), "--config", join(folder, "sandgate.yaml")]);

describe.skipIf(ISOLATIONS.length === 0)("sandgate check", () => {
  test("starts MCP servers, and counts their tools", async () => {
    const level = "confirmations: { tools: { mcp_h_x: auto } }";
    const { code, stdout } = await run("check", await folderWith(config("ok", "", level)));
    expect([code, stdout]).toEqual([0, expect.stringContaining("1 tool, 0 errors, 0 warnings")]);
  });

  test("warns of imported tools whose calls are always denied, as no one can be asked about them", async () => {
    const { code, stderr } = await run("check", await folderWith(config("ok")));
    expect(stderr).toMatch(
      /every client of 'sandgate mcp serve' is denied calls of 'mcp_h_x'.*'mcp.classes'/,
    );
    expect(code).toBe(0);
  });

  test("warns of tools that cannot be registered, and fails for a server that cannot be reached", async () => {
    const bad = await run("check", await folderWith(config("bad-schemas")));
    expect(bad.stderr).toContain("the input schema of 'null' is not an object");
    const gone = await run("check", await folderWith(config("exit-at-once")));
    expect([gone.code, gone.stderr]).toEqual([
      2,
      expect.stringContaining("the server cannot be connected to"),
    ]);
  });

  test.each([
    ["{ h: { command: a, url: 'http://localhost' } }", "have either command or url"],
    ["{ h: {} }", "have either command or url"],
    ["{ h: { url: 'ftp://example.com' } }", "must be an http: or https: URL"],
    ["{ 'a b': { command: a } }", "1 to 32 letters"],
    ["{ h: { command: a, env: { TOKEN: secret } } }", "must be a map"],
    ["{ h: { command: a, env: { TOKEN: { env: NO_SUCH_VARIABLE_OF_TESTS } } } }", "is not set"],
  ])("refuses the servers %s", async (servers, problem) => {
    const { code, stderr } = await run(
      "check",
      await folderWith(`mcp: { servers: ${servers} }\npolicy: { rules: [] }\n`),
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  });
});

describe.skipIf(ISOLATIONS.length === 0)("sandgate mcp pin and diff", () => {
  test("pin the tools and the instructions of servers", async () => {
    const folder = await folderWith(config("instructions", "Call x first."));
    expect((await run("mcp pin --yes", folder)).code).toBe(0);
    const lock = await readFile(join(folder, "sandgate.lock"), "utf8");
    expect(lock).toContain("mcp_h_x");
    expect(lock).toContain("Call x first.");
    expect((await run("mcp diff", folder)).code).toBe(0);
    await writeFile(join(folder, "sandgate.yaml"), config("instructions", "Call x last."));
    const { code, stdout } = await run("mcp diff", folder);
    expect([code, stdout]).toEqual([1, expect.stringContaining("Call x last.")]);
  });

  test("deny a tool of a server that changed, and warn of it", async () => {
    const folder = await folderWith(config("ok", "one"));
    await run("mcp pin --yes", folder);
    await writeFile(join(folder, "sandgate.yaml"), config("ok", "another name"));
    expect((await run("check", folder)).stderr).toContain(
      "the definition of tool 'mcp_h_x' is not the one in the lock",
    );
    const content = [{ type: "tool_use", id: "1", name: "mcp_h_x", input: {} }];
    await writeFile(join(folder, "message.json"), JSON.stringify({ role: "assistant", content }));
    const { stdout } = await run(`dispatch ${join(folder, "message.json")}`, folder);
    expect(stdout).toContain("is not the one that was approved");
  });

  test("write no lock while a server cannot be reached", async () => {
    const { code, stderr } = await run("mcp pin --yes", await folderWith(config("exit-at-once")));
    expect([code, stderr]).toEqual([2, expect.stringContaining("the server cannot be connected to")]);
  });
});

describe.skipIf(ISOLATIONS.length === 0)("sandgate serve", () => {
  test("keeps a server whose entry did not change when it reloads its config, and starts one that did", async () => {
    const folder = await createFolder({
      "sandgate.yaml": `${config("exit-once")}\nserver: { token: { file: token } }\n`,
      token: "secret-of-this-test-which-is-long-enough",
    });
    const { child } = await start(folder);
    const lines = createInterface(child.stderr as Readable)[Symbol.asyncIterator]();
    const seen: string[] = [];
    const until = async (expected: string): Promise<void> => {
      for (;;) {
        const { value } = await lines.next();
        const { event } = JSON.parse(value ?? "") as { event: string };
        seen.push(event);
        if (event === expected) return;
      }
    };
    await until("server.started");
    child.kill("SIGHUP");
    await until("config.reloaded");
    expect(seen.filter((event) => event === "mcp.connected")).toHaveLength(1);
    await writeFile(join(folder, "sandgate.yaml"), "policy: {");
    child.kill("SIGHUP");
    await until("config.refused");
    await writeFile(
      join(folder, "sandgate.yaml"),
      `${config("exit-once", "another")}\nserver: { token: { file: token } }\n`,
    );
    child.kill("SIGHUP");
    await until("config.reloaded");
    expect(seen.filter((event) => event === "mcp.connected")).toHaveLength(2);
  });
});
