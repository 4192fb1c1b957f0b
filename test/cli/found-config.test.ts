import { createHash } from "node:crypto";
import { chmod, chown, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFolder, PROJECT, sandgate } from "./sandgate.ts";

/** A config that has nothing run: its only tool is JavaScript for QuickJS. */
const QUIET = `
tools:
  - name: upper
    description: Writes a text in capitals
    inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
    sideEffects: none
    quickjs: { source: "export default ({ text }) => text.toUpperCase()" }
policy: { rules: [{ tools: [upper], effect: allow, sandboxes: [quickjs] }] }
journal: { directory: journal }
`;

const MESSAGE = JSON.stringify([{ id: "1", name: "upper", arguments: { text: "quiet" } }]);

/** Runs the test in a folder with these files. */
async function inFolder(files: Record<string, string>): Promise<string> {
  const folder = await createFolder({ "message.json": MESSAGE, ...files });
  for (const name of Object.keys(files)) await chmod(join(folder, name), 0o644);
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => process.chdir(before));
  return folder;
}

describe("A config that is in the current folder, and was not named,", () => {
  test.each([
    [["check"]],
    [["dispatch", "message.json"]],
    [["dispatch", "message.json", "--dry-run"]],
    [["bench", "message.json", "--calls", "1", "--warm-up", "0"]],
    [["policy", "explain", "--call", '{"tool":"upper","arguments":{"text":"a"}}']],
    [["policy", "prove"]],
    [["journal", "show"]],
  ])("is used by %j if it runs nothing", async (argv) => {
    await inFolder({ "sandgate.yaml": QUIET, "journal/.keep": "" });
    const { code, stderr } = await sandgate(argv);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining("found") });
  });

  test.each([
    [["check"], "modules"],
    [["dispatch", "message.json"], "modules"],
    [["bench", "message.json", "--calls", "1", "--warm-up", "0"], "modules"],
    [["policy", "prove"], "modules"],
    [["mcp", "pin"], "modules"],
    [["console"], "modules"],
    [["supervise", "--", "agent"], "modules"],
  ])("is not used by %j without a terminal, if it has modules of its own", async (argv, what) => {
    const folder = await inFolder(PROJECT);
    const digest = createHash("sha256")
      .update(PROJECT["sandgate.yaml"] ?? "")
      .digest("hex");
    const { code, stderr } = await sandgate(argv);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`has ${what} of its own`),
    });
    expect(stderr).toContain(`${join(folder, "sandgate.yaml")} (sha256 ${digest}) was found and not named`);
    expect(stderr).toContain("name it with --config sandgate.yaml, or use it with --yes");
  });

  test.each<[string, string, string]>([
    ["MCP servers", "mcp: { servers: { one: { url: http://127.0.0.1:1 } } }", "has MCP servers of its own"],
    ["programs", "tools: [{ name: t, process: { command: /bin/true } }]", "has programs of its own"],
    [
      "notifications",
      "confirmations: { notify: { url: http://127.0.0.1:1 } }",
      "has notifications of its own",
    ],
    ["programs of a journal", "journal: { anchors: [{ command: [x] }] }", "has programs of its own"],
  ])("is not used if it has %s of its own", async (_, config, reason) => {
    await inFolder({ "sandgate.yaml": config });
    const { code, stderr } = await sandgate(["check"]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
  });

  test("may check tools that send requests, and is asked about before it sends them", async () => {
    const remote = "remote: { http: { url: 'http://127.0.0.1:1/{?text}' } }";
    const config = QUIET.replace(/quickjs: \{ source.*/, remote).replace("[quickjs]", "[remote]");
    await inFolder({ "sandgate.yaml": config });
    expect((await sandgate(["policy", "prove"])).code).toBe(0);
    const { code, stderr } = await sandgate(["dispatch", "message.json"]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has requests of its own"),
    });
    expect((await sandgate(["dispatch", "message.json", "--yes"])).code).toBe(0);
    expect((await sandgate(["dispatch", "message.json", "--config", "sandgate.yaml"])).code).toBe(0);
  });

  test.each([
    ["yes\n", 0, "| 1     upper"],
    ["no\n", 2, "nothing was run"],
    ["", 2, "nothing was run"],
  ])("is asked about once at a terminal, and %j is the answer", async (stdin, code, said) => {
    await inFolder(PROJECT);
    const outcome = await sandgate(["dispatch", "message.json"], { stdin, isInteractive: true });
    expect(outcome).toMatchObject({ code, stderr: expect.stringContaining("Use it? Type yes") });
    expect(outcome.stdout + outcome.stderr).toContain(said);
    expect(outcome.stderr.match(/Use it\?/g)).toHaveLength(1);
  });

  test("is not used if others can write it, or it is a link", async () => {
    const folder = await inFolder({ "sandgate.yaml": QUIET });
    await chmod("sandgate.yaml", 0o664);
    const { code, stderr } = await sandgate(["check", "--yes"]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("others can write it"),
    });
    const other = await inFolder({});
    await symlink(join(folder, "sandgate.yaml"), join(other, "sandgate.yaml"));
    expect((await sandgate(["check", "--yes"])).stderr).toContain("it is not a file of its own");
    expect((await sandgate(["check", "--config", "sandgate.yaml"])).code).toBe(0);
  });

  test.runIf(process.getuid?.() === 0)("is not used if it belongs to another user", async () => {
    await inFolder({ "sandgate.yaml": QUIET });
    await chown("sandgate.yaml", 65_534, 65_534);
    expect((await sandgate(["check", "--yes"])).stderr).toContain("it belongs to another user");
  });

  test("is not looked for elsewhere", async () => {
    const folder = await inFolder({ "sandgate.yaml": QUIET, "below/file": "" });
    process.chdir(join(folder, "below"));
    const { code, stderr } = await sandgate(["check"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(
        "there is no sandgate.yaml here: name a config with --config, or create one",
      ),
    });
  });

  test.each([[["serve"]], [["mcp", "serve"]]])("is not used by %j", async (argv) => {
    await inFolder({ "sandgate.yaml": QUIET });
    const { code, stderr } = await sandgate(argv);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--config sandgate.yaml is missing"),
    });
  });
});
