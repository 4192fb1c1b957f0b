import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createFolder, sandgate } from "../../sandgate.ts";

const FILES: Record<string, string> = {
  "add.js": "export default ({ a, b }, { log }) => { log('adding'); return a + b; };",
  "broken.js": "export default () => 1;\nconst x = ;",
  "fails.ts":
    "export const run = (input: { n: number }): void => {\n  throw new RangeError('\\u001b[2J' + input.n);\n};",
  "enum.ts": "enum A { B }\nexport default () => A.B;",
  "policy.yaml": `
rules:
  - { tools: [add], effect: allow, sandboxes: [quickjs], limits: { wallTime: 2s, logLines: 1 } }
`,
  "bad-policy.yaml": "rules: [{ tools: [add], effect: perhaps }]",
};

describe("sandgate tool run", () => {
  test("prints the result, the log and the receipt", async () => {
    const folder = await createFolder(FILES);
    const { code, stdout, stderr } = await sandgate([
      "tool",
      "run",
      join(folder, "add.js"),
      "-i",
      '{"a":1,"b":2}',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      success: true,
      output: 3,
      log: [{ level: "info", message: "adding" }],
      receipt: { enforced: { wallTimeMs: 30_000 }, used: { logLines: 1 } },
    });
  });

  test("keeps the store of values, and what the tool is made of, from the tool", async () => {
    const folder = realpathSync(
      await createFolder({
        "add.js": `import { plus } from "./plus.js";
export default (_, { fs }) => ["values.json", "values.json.lock", "add.js", "plus.js"].map((name) => {
  try { fs.writeFile("/project/" + name, "x"); return plus(name, " was written"); } catch (error) { return error.message; }
});`,
        "plus.js": "export const plus = (a, b) => a + b;",
        "values.json": "{}",
      }),
    );
    const policy = `rules: [{ tools: [add], effect: allow, sandboxes: [quickjs], capabilities: { fs: [{ directory: ${folder}, at: /project, write: true }] } }]`;
    writeFileSync(join(folder, "policy.yaml"), policy);
    const files = ["--policy", join(folder, "policy.yaml"), "--store", join(folder, "values.json")];
    const { stdout, stderr } = await sandgate(["tool", "run", join(folder, "add.js"), ...files]);
    expect(stderr).toBe("");
    for (const message of JSON.parse(stdout).output)
      expect(message).toMatch(/of Sandgate itself|Sandgate itself reads/);
  });

  test("runs under the grant of a policy", async () => {
    const folder = await createFolder(FILES);
    const args = ["tool", "run", join(folder, "add.js"), "--policy", join(folder, "policy.yaml")];
    expect(JSON.parse((await sandgate(args)).stdout).receipt.enforced).toMatchObject({
      wallTimeMs: 2_000,
      logLines: 1,
    });
  });

  test("reports where a tool failed, and exits with 1", async () => {
    const folder = await createFolder(FILES);
    const outcome = await sandgate(["tool", "run", join(folder, "fails.ts"), "-e", "run", "-i", '{"n":7}']);
    expect(outcome.code).toBe(1);
    expect(outcome.stdout).not.toContain("\u001b");
    const { success, error, detail } = JSON.parse(outcome.stdout);
    expect({ success, error }).toMatchObject({
      success: false,
      error: { code: "execution_error", effect: "none" },
    });
    expect(detail[1]).toMatch(/fails\.ts:2:\d+/);
  });

  test("names a capability that the tool needs, and how to grant one", async () => {
    const folder = await createFolder({
      "notes.js": "export default (input, { fs }) => fs.appendFile('/notes/a.txt', 'b');",
    });
    const { code, stdout, stderr } = await sandgate(["tool", "run", join(folder, "notes.js")]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "Without --policy FILE, tool run grants no capabilities.\n",
    });
    const { error, detail } = JSON.parse(stdout);
    expect(error.message).toBe("fs: this call may not use files (capabilities.fs is not granted)");
    expect(detail.at(-1)).toMatch(/notes\.js:1:\d+/);
  });

  test("names in the log each capability that a tool lacks, even if the tool catches the error", async () => {
    const folder = await createFolder({
      "quiet.js": `
        const attempt = async (act) => { try { await act(); } catch {} };
        export default async (input, { fs, tools }) => {
          for (let round = 0; round < 3; round++) {
            await attempt(() => fs.stat("/"));
            await attempt(() => tools.call("other", {}));
            await attempt(() => fetch("https://api.test/secret"));
            await attempt(() => crypto.randomUUID());
          }
          return "done";
        };`,
      "policy.yaml":
        "rules: [{ tools: [quiet], effect: allow, sandboxes: [quickjs], capabilities: { net: ['https://b.test'] } }]",
    });
    const linesOf = ({ stdout }: { readonly stdout: string }): string[] => {
      const { output, log } = JSON.parse(stdout);
      expect(output).toBe("done");
      return [...new Set<string>(log.map(({ message }: { message: string }) => message))].sort();
    };
    const outcome = await sandgate(["tool", "run", join(folder, "quiet.js")]);
    expect(outcome.stderr).toBe("Without --policy FILE, tool run grants no capabilities.\n");
    expect(linesOf(outcome)).toEqual([
      expect.stringMatching(/^denied: crypto: .*capabilities\.random/),
      expect.stringMatching(/^denied: fetch: .*capabilities\.net/),
      expect.stringMatching(/^denied: fs: .*capabilities\.fs/),
      expect.stringMatching(/^denied: tools\.call: .*capabilities\.tools/),
    ]);
    const granted = ["--policy", join(folder, "policy.yaml")];
    const other = await sandgate(["tool", "run", join(folder, "quiet.js"), ...granted]);
    expect(other.stderr).toBe("");
    expect(linesOf(other)).toContain(
      "denied: the capability 'net' does not name the origin 'https://api.test'",
    );
  });

  test("reads the input from a file or from standard input", async () => {
    const folder = await createFolder({ ...FILES, "input.json": '{ "a": 1, "b": 2 }', "bad.json": "{ a" });
    const file = join(folder, "add.js");
    const withFile = await sandgate(["tool", "run", file, "--input", `@${join(folder, "input.json")}`]);
    const withStdin = await sandgate(["tool", "run", file, "--input", "-"], { stdin: '{ "a": 1, "b": 2 }' });
    for (const { stdout } of [withFile, withStdin]) expect(JSON.parse(stdout)).toMatchObject({ output: 3 });
    const bad = join(folder, "bad.json");
    for (const [input, stdin, message] of [
      [`@${bad}`, "", `--input: ${bad} is not valid JSON: `],
      [`@${bad}.gone`, "", `--input: ${bad}.gone cannot be read: `],
      ["-", "{", "--input: standard input is not valid JSON: unexpected end at position 1"],
      ["-", "", "--input: standard input is not valid JSON"],
      ["-", Buffer.from([0x22, 0xff, 0x22]), "--input: standard input cannot be read"],
    ] as const) {
      const { code, stdout, stderr } = await sandgate(["tool", "run", file, "--input", input], { stdin });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(message);
    }
  });

  test("reports problems of the input, the policy and the command line", async () => {
    const folder = await createFolder(FILES);
    const file = join(folder, "add.js");
    const input = await sandgate(["tool", "run", file, "-i", "{"]);
    expect(input).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "sandgate: --input is not valid JSON: unexpected end at position 1. See sandgate tool run --help\n",
    });
    const policy = await sandgate(["tool", "run", file, "-p", join(folder, "bad-policy.yaml")]);
    expect(policy).toMatchObject({ code: 2, stderr: expect.stringContaining("bad-policy.yaml:1:") });
    for (const args of [
      ["tool"],
      ["tool", "walk"],
      ["tool", "run"],
      ["tool", "run", "a", "b"],
      ["tool", "check"],
    ]) {
      expect(await sandgate(args)).toMatchObject({ code: 2, stderr: expect.stringContaining("sandgate: ") });
    }
  });
});

describe("sandgate tool check", () => {
  test("reports what a tool exports", async () => {
    const folder = await createFolder(FILES);
    const file = join(folder, "add.js");
    expect(await sandgate(["tool", "check", file])).toEqual({
      code: 0,
      stdout: `${file}: exports the tool 'default'\n`,
      stderr: "",
    });
  });

  test("reports what the tool uses and the sandbox does not have, in each of its modules", async () => {
    const folder = await createFolder({
      "tool.ts": `import { home } from "./lib/home.js";
import { readFileSync } from "node:fs";
export default ({ path }: { readonly path: string }): unknown => [home(), readFileSync(path)];`,
      "lib/home.ts": "export const home = (): string => process.env.HOME ?? Math.random() + '';",
      "sound.js": "export default () => (typeof process === 'undefined' ? 'sandbox' : process.version);",
    });
    const sound = join(folder, "sound.js");
    const { code, stdout, stderr } = await sandgate(["tool", "check", join(folder, "tool.ts"), sound]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: `${sound}: exports the tool 'default'\n` });
    expect(stderr.trim().split("\n")).toEqual([
      expect.stringContaining(`${join(folder, "tool.ts")}:2:30: 'node:fs' cannot be imported: `),
      expect.stringContaining(
        `${join(folder, "lib/home.ts")}:1:35: 'process' does not exist in the sandbox: `,
      ),
    ]);
  });

  test("reports the problem of each file with its position", async () => {
    const folder = await createFolder(FILES);
    const files = ["broken.js", "enum.ts", "fails.ts", "missing.js"].map((name) => join(folder, name));
    const { code, stdout, stderr } = await sandgate(["tool", "check", ...files]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const [broken, types, names, missing] = stderr.split("\n");
    expect(broken).toMatch(/\/broken\.js:2:\d+: SyntaxError: /);
    expect(types).toMatch(/\/enum\.ts:1:1: TypeScript enum is not supported/);
    expect(names).toMatch(/\/fails\.ts: TypeError: the module has no exported function 'default'/);
    expect(missing).toMatch(/\/missing\.js: 'missing\.js' cannot be read: ENOENT/);
  });
});
