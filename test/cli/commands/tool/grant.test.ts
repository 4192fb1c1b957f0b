import { execFileSync } from "node:child_process";
import { lstat, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import asc from "assemblyscript/asc";
import { afterAll, describe, expect, test, vi } from "vitest";
import { parse as parseYaml } from "yaml";
import { createFolder, sandgate } from "../../sandgate.ts";

const folder = await mkdtemp(join(tmpdir(), "sandgate-grants-"));
vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** The component of the example that keeps notes, built as its `npm run build` does. */
const notes = join(folder, "notes.wasm");
const source = "examples/wasm-tool-key-value/assembly/index.ts";
const flags = ["--outFile", join(folder, "core.wasm"), "--optimize", "--runtime", "stub", "--use", "abort="];
const { error, stderr: reason } = await asc.main([source, ...flags]);
if (error !== null) throw new Error(reason.toString());
await sandgate(["tool", "component", join(folder, "core.wasm"), "--out", notes]);

/** Calls the tool `note`. */
async function note(input: object, options: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await sandgate([
    "tool",
    "run",
    notes,
    "--input",
    JSON.stringify(input),
    ...options,
  ]);
  return JSON.parse(stdout || JSON.stringify({ stderr }));
}

describe("sandgate tool check --grant", () => {
  test("grants the engine that a component is checked with", async () => {
    const grant = join(folder, "engine.yaml");
    const args = ["tool", "check", notes, "--engine", "jco", "--grant", grant, "--value", "keyValue=notes"];
    expect(await sandgate(args)).toMatchObject({ code: 0, stderr: "" });
    const [rule] = parseYaml(await readFile(grant, "utf8")).rules;
    expect(rule.capabilities).toEqual({ engine: "jco", keyValue: ["notes"] });
    const { success, receipt } = await note({ title: "a" }, ["--engine", "jco", "--policy", grant]);
    expect({ success, receipt }).toMatchObject({ success: true, receipt: { used: { engine: "jco" } } });
  });

  test("does not replace a file that it did not write", async () => {
    const file = join(folder, "mine.yaml");
    await writeFile(file, "rules: []\n");
    const args = ["tool", "check", notes, "--grant", file];
    expect(await sandgate(args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("it exists, and 'tool check --grant' did not write it"),
    });
    expect(await readFile(file, "utf8")).toBe("rules: []\n");
  });

  test("grants what a component imports, as far as it is named", async () => {
    const grant = join(folder, "new/grant.yaml");
    const args = [
      "tool",
      "check",
      notes,
      "--grant",
      grant,
      "--value",
      "keyValue=notes",
      "--value",
      "keyValue=b",
    ];
    expect(await sandgate(args)).toMatchObject({ code: 0, stderr: "" });
    const text = await readFile(grant, "utf8");
    expect(parseYaml(text).rules).toEqual([
      {
        tools: ["note"],
        effect: "allow",
        sandboxes: ["wasm"],
        limits: expect.objectContaining({ memory: "64MiB" }),
        capabilities: { keyValue: ["notes", "b"] },
      },
    ]);
    expect(text).not.toContain("not granted");
  });

  test("grants nothing that only a person can name, and says so", async () => {
    const grant = join(folder, "empty.yaml");
    await sandgate(["tool", "check", notes, "--grant", grant]);
    const text = await readFile(grant, "utf8");
    const remedy = "Add --value keyValue=STORE if it needs that.";
    expect(text).toContain(
      `# 'keyValue' is not granted, though notes.wasm imports sandgate:tool/key-value. ${remedy}`,
    );
    expect(parseYaml(text).rules[0]).not.toHaveProperty("capabilities");
  });

  test("grants a module what it mentions, in every file that it imports, and not what comments mention", async () => {
    const tool = await createFolder({
      "tool.js": "// fetch(url)\nimport { ask } from './lib/ask.js';\nexport default (input) => ask(input);",
      "lib/ask.ts": "/* fs */ export const ask = ({ url }: { url: string }) => fetch(url);",
    });
    const grant = join(tool, "grant.yaml");
    const args = ["tool", "check", join(tool, "tool.js"), "-g", grant];
    expect(await sandgate(args)).toMatchObject({ code: 0, stderr: "" });
    const text = await readFile(grant, "utf8");
    expect(text).toContain("'net' is not granted, though tool.js seems to use it. Add --value net=");
    expect(text).not.toContain("'fs'");
    expect(parseYaml(text).rules[0]).toMatchObject({ tools: ["tool"], sandboxes: ["quickjs"] });
  });

  test("refuses values that grant nothing or have another form, and writes nothing for a broken tool", async () => {
    const tool = await createFolder({ "tool.js": "export default () => 1;", "broken.js": "const x = ;" });
    const grant = join(tool, "grant.yaml");
    for (const [file, value, reason] of [
      ["tool.js", "net=https://a.example", "--value net=… grants nothing: no tool here can use 'net'"],
      ["tool.js", "keyValue", "--value must be like one of"],
      ["tool.js", "clock=true", "--value must be like one of"],
    ] as const) {
      const outcome = await sandgate(["tool", "check", join(tool, file), "--grant", grant, "--value", value]);
      expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining(reason) });
    }
    expect(await sandgate(["tool", "check", join(tool, "broken.js"), "-g", grant])).toMatchObject({
      code: 2,
    });
    await expect(readFile(grant)).rejects.toThrow("ENOENT");
    expect(await sandgate(["tool", "check", join(tool, "tool.js"), "--value", "net=a"])).toMatchObject({
      stderr: expect.stringContaining("--value requires --grant"),
    });
  });
});

describe("sandgate tool run", () => {
  test("keeps the stores of a component in a file, and otherwise only for the call", async () => {
    const policy = join(folder, "policy.yaml");
    await sandgate(["tool", "check", notes, "--grant", policy, "--value", "keyValue=notes"]);
    const kept = ["--policy", policy, "--store", join(folder, "store.json")];
    expect(await note({ title: "a", text: "first" }, kept)).toMatchObject({ success: true, output: null });
    expect(await note({ title: "a" }, kept)).toMatchObject({ output: "first" });
    expect(await note({ title: "a" }, ["--policy", policy])).toMatchObject({ output: null });
    expect(JSON.parse(await readFile(join(folder, "store.json"), "utf8"))).toEqual({
      format: 1,
      stores: { notes: { a: Buffer.from("first").toString("base64") } },
    });
  });

  test("refuses a store that is a pipe, or would lose a value", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const damaged = join(folder, "damaged.json");
    await writeFile(damaged, '{ "notes": { "a": "!!!" } }');
    for (const [file, reason] of [
      [pipe, "it is not a file"],
      [damaged, "a value is not base64"],
    ] as const) {
      const stderr = expect.stringContaining(`cannot be used: ${reason}`);
      expect(await note({ title: "a" }, ["--store", file])).toEqual({ stderr });
    }
  });

  test("writes the file that a link refers to, and prints the result even if it cannot be written", async () => {
    const target = join(folder, "target.json");
    await writeFile(target, "{}");
    await symlink(target, join(folder, "link.json"));
    await note({ title: "a" }, ["--store", join(folder, "link.json")]);
    expect((await lstat(join(folder, "link.json"))).isSymbolicLink()).toBe(true);
    expect(await note({ title: "a" }, ["--store", join(folder, "missing/store.json")])).toMatchObject({
      receipt: {},
    });
  });

  test("refuses a file that has no stores, and leaves it as it is", async () => {
    const file = join(folder, "other.json");
    await writeFile(file, '{ "notes": 1 }');
    expect(await note({ title: "a" }, ["--store", file])).toEqual({
      stderr: expect.stringContaining("cannot be used: it must have an object for each store"),
    });
    expect(await readFile(file, "utf8")).toBe('{ "notes": 1 }');
  });

  test("names the capability of what was denied", async () => {
    expect(await note({ title: "a" }, [])).toMatchObject({
      success: false,
      log: [{ level: "warn", message: "denied: the capability 'keyValue' does not give the store 'notes'" }],
    });
    expect((await sandgate(["tool", "run", notes, "--input", '{ "title": "a" }'])).stderr).toBe(
      "Without --policy FILE, tool run grants no capabilities.\n",
    );
  });

  test("warns of nothing that is only about other tools of the policy", async () => {
    const project = await createFolder({
      "tool.js": "export default () => 1;",
      "policy.yaml":
        "rules:\n" +
        "  - { tools: [tool], effect: allow, sandboxes: [wasm, quickjs] }\n" +
        "  - { tools: [other], effect: allow, sandboxes: [wasm] }\n",
    });
    const args = ["tool", "run", join(project, "tool.js"), "--policy", join(project, "policy.yaml")];
    expect(await sandgate(args)).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("sandgate tool component", () => {
  const CALL = "(param i32 i32 i32 i32 i32 i32 i32 i64) (result i32)";
  /** A module whose tool has no name: it is enough to be a component. */
  const module = (names: readonly [describe: string, call: string], more = ""): Promise<Uint8Array> =>
    parse(`(module ${more} (memory (export "memory") 1)
      (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) i32.const 8)
      (func (export "${names[0]}") (result i32) i32.const 64)
      (func (export "${names[1]}") ${CALL} i32.const 64))`);

  test.each([
    ["short names", ["describe", "call"]],
    ["full names", ["sandgate:tool/guest@0.1.0#describe", "sandgate:tool/guest@0.1.0#call"]],
  ] as const)("makes a component of a module whose functions have %s", async (_, names) => {
    const core = join(folder, "core.wasm");
    const out = join(folder, "made/tool.wasm");
    await writeFile(core, await module(names));
    expect(await sandgate(["tool", "component", core, "--out", out])).toEqual({
      code: 0,
      stdout: "",
      stderr: "",
    });
    const { exports, imports } = JSON.parse((await sandgate(["tool", "inspect", out])).stdout);
    expect(exports.map(({ name }: { name: string }) => name)).toContain("sandgate:tool/guest@0.1.0#call");
    // It imports only what the module does, which is nothing.
    expect(imports.filter(({ needs }: { needs: string }) => needs !== "none")).toEqual([]);
  });

  test("says why a module cannot be a component", async () => {
    const core = join(folder, "odd.wasm");
    const out = join(folder, "odd-tool.wasm");
    for (const [bytes, reason] of [
      [await module(["describe", "call"], '(import "env" "puts" (func))'), "module requires an import"],
      [await parse("(module)"), "it cannot become a component: "],
      [Buffer.from("text"), "it cannot become a component: "],
    ] as const) {
      await writeFile(core, bytes);
      const outcome = await sandgate(["tool", "component", core, "-o", out]);
      expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(reason) });
    }
    expect(await sandgate(["tool", "component", core])).toMatchObject({
      stderr: expect.stringContaining("--out FILE.wasm is missing"),
    });
    expect(await sandgate(["tool", "component", join(folder, "no.wasm"), "-o", out])).toMatchObject({
      stderr: expect.stringContaining("cannot be read"),
    });
  });
});
