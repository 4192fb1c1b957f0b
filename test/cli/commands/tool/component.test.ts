import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "@bytecodealliance/jco-transpile/wasm-tools";
import { afterAll, describe, expect, test, vi } from "vitest";
import { contractComponent } from "../../../fixtures/wasm/contract-component.ts";
import { typedComponent } from "../../../fixtures/wasm/typed-component.ts";
import { wasiComponent } from "../../../fixtures/wasm/wasi-component.ts";
import { createFolder, sandgate } from "../../sandgate.ts";

const folder = await mkdtemp(join(tmpdir(), "sandgate-components-"));
vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** Writes a component to a file. Returns its path. */
async function componentFile(name: string, bytes: Uint8Array | Promise<Uint8Array>): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, await bytes);
  return path;
}

/** Two functions that can be tools, and one that cannot. */
const several = await componentFile(
  "several.wasm",
  typedComponent(
    "export double: func(n: u32) -> u32; export half: func(n: u32) -> u32; " +
      "export files: interface { resource file; read: func(source: file); }",
    `(func (export "double") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
     (func (export "half") (param i32) (result i32) (i32.div_u (local.get 0) (i32.const 2)))
     (func (export "files#read") (param i32))`,
  ),
);
/** Valid except for its function's body. */
const INVALID = `(component
  (core module $m (func (export "f") (result i32)))
  (core instance $i (instantiate $m))
  (func $f (result u32) (canon lift (core func $i "f")))
  (export "f" (func $f)))`;
const invalid = await componentFile("invalid.wasm", parse(INVALID));
const single = await componentFile(
  "single.wasm",
  typedComponent(
    "export checked-half: func(n: u32) -> result<u32, string>;",
    `(data (i32.const 64) "it is odd")
     (func (export "checked-half") (param i32) (result i32)
       (i32.store8 (i32.const 8) (i32.and (local.get 0) (i32.const 1)))
       (if (i32.and (local.get 0) (i32.const 1))
         (then (i32.store (i32.const 12) (i32.const 64)) (i32.store (i32.const 16) (i32.const 9)))
         (else (i32.store (i32.const 12) (i32.div_u (local.get 0) (i32.const 2)))))
       i32.const 8)`,
  ),
);
const world = await contractComponent();
const core = await componentFile("core.wasm", parse("(module)"));
const text = await componentFile("text.wasm", Buffer.from("no component"));

describe("sandgate tool run of a component", () => {
  test("calls the only exported function, and prints output and receipt", async () => {
    const { code, stdout, stderr } = await sandgate(["tool", "run", single, "--input", '{"n":84}']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      success: true,
      output: 42,
      log: [],
      receipt: { enforced: { wallTimeMs: 30_000, memoryBytes: 64 * 2 ** 20 } },
    });
  });

  test("exits with 1 if the function returns an error, or the input does not match its type", async () => {
    const failed = await sandgate(["tool", "run", single, "--input", '{"n":7}']);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout).error).toMatchObject({ code: "execution_error", message: "it is odd" });
    const misfit = await sandgate(["tool", "run", single, "--input", '{"n":-7}']);
    expect(misfit.code).toBe(1);
    expect(JSON.parse(misfit.stdout).error).toMatchObject({ code: "validation_error" });
  });

  test("calls the function or the tool that is named", async () => {
    const half = await sandgate(["tool", "run", several, "--export", "half", "--input", '{"n":84}']);
    expect(JSON.parse(half.stdout).output).toBe(42);
    const echo = await sandgate(["tool", "run", world, "--tool", "echo", "--input", '{"a":[1]}']);
    expect(JSON.parse(echo.stdout)).toMatchObject({ success: true, output: { a: [1] } });
  });

  test("refuses an ambiguous or unknown name", async () => {
    expect(await sandgate(["tool", "run", several])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "sandgate: the component has several tools: choose one of double (double), half (half) with --tool. " +
        "See sandgate tool run --help\n",
    });
    const missing = await sandgate(["tool", "run", several, "--tool", "third"]);
    expect(missing).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has no tool 'third': its tools are double"),
    });
    const refused = await sandgate(["tool", "run", several, "--export", "files#read"]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("has no tool 'files#read': it takes"),
    });
  });

  test("runs under the grant of a policy that matches the tool's name", async () => {
    const policy = join(
      await createFolder({
        "policy.yaml":
          "rules:\n  - { tools: [checked-half], effect: allow, sandboxes: [wasm], limits: { wallTime: 2s } }\n",
      }),
      "policy.yaml",
    );
    const { stdout } = await sandgate(["tool", "run", single, "-p", policy, "-i", '{"n":2}']);
    expect(JSON.parse(stdout)).toMatchObject({ output: 1, receipt: { enforced: { wallTimeMs: 2_000 } } });
    const denied = await sandgate(["tool", "run", several, "-t", "half", "-p", policy, "-i", '{"n":2}']);
    expect(denied.code).toBe(1);
    expect(JSON.parse(denied.stdout).error.code).toBe("permission_denied");
  });

  test("names the capability that a component lacks, for files too, which it finds to be missing", async () => {
    const file = await componentFile(
      "needs.wasm",
      parse(`(component
        (import "wasi:filesystem/types@0.2.3" (instance))
        (import "wasi:random/random@0.2.3" (instance $r (export "get-random-u64" (func (result u64)))))
        (core func $draw (canon lower (func $r "get-random-u64")))
        (core module $m (import "r" "draw" (func $draw (result i64)))
          (func (export "draw") (result i64) (call $draw))
          (func (export "read") unreachable))
        (core instance $i (instantiate $m (with "r" (instance (export "draw" (func $draw))))))
        (func (export "draw") (result u64) (canon lift (core func $i "draw")))
        (func (export "read") (canon lift (core func $i "read"))))`),
    );
    const files = `${file} imports wasi:filesystem/types: without the capability 'fs', it finds no files.\n`;
    const policy = "Without --policy FILE, tool run grants no capabilities.\n";
    const drawn = await sandgate(["tool", "run", file, "-e", "draw"]);
    expect(drawn.stderr).toBe(files + policy);
    expect(JSON.parse(drawn.stdout).error.message).toContain("needs the capability 'random'");
    const rules = (capabilities: string): string =>
      `rules: [{ tools: ["*"], effect: allow, sandboxes: [wasm], capabilities: ${capabilities} }]`;
    const policies = await createFolder({
      "random.yaml": rules("{ random: true }"),
      "fs.yaml": rules(`{ fs: [{ directory: ${folder}, at: /data }] }`),
    });
    for (const [name, granted, code, stderr] of [
      ["draw", "random.yaml", 0, ""],
      ["read", "random.yaml", 1, files],
      ["read", "fs.yaml", 1, ""],
    ] as const) {
      const args = ["tool", "run", file, "-e", name, "--policy", join(policies, granted)];
      expect(await sandgate(args)).toMatchObject({ code, stderr });
    }
  });

  test("recognises a component by its first bytes", async () => {
    const unnamed = await componentFile("tool", readFile(single));
    expect(await sandgate(["tool", "run", unnamed, "-i", '{"n":2}'])).toMatchObject({ code: 0 });
  });

  test("reports files that are not components, and refuses --tool for JavaScript", async () => {
    for (const [file, reason] of [
      [core, "it is a core module, not a component"],
      [text, "it is not a WebAssembly component"],
      [invalid, "a core module does not compile: "],
      [join(folder, "missing.wasm"), "cannot be read"],
    ] as const) {
      const outcome = await sandgate(["tool", "run", file]);
      expect(outcome).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(reason) });
    }
    const module = join(await createFolder({ "a.js": "export default () => 1;" }), "a.js");
    const outcome = await sandgate(["tool", "run", module, "--tool", "a"]);
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining("FILE is not one") });
  });
});

describe("sandgate tool check of a component", () => {
  test("lists its tools, and why other exports are not tools", async () => {
    const { code, stdout, stderr } = await sandgate(["tool", "check", single, several]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`${single}: has the tool 'checked-half' (checked-half)\n`);
    expect(stdout).toContain(`${several}: has the tool 'half' (half)\n`);
    expect(stdout).toMatch(/several\.wasm: 'files#read' is not a tool: it takes or returns a /);
  });

  test("reports which capabilities its imports need if it uses them, and that it has no tool", async () => {
    const { code, stdout, stderr } = await sandgate(["tool", "check", await wasiComponent()]);
    expect(code).toBe(2);
    expect(stdout).toMatch(
      /: imports .*wasi:clocks\/wall-clock.*: using them needs the capability 'clock'$/m,
    );
    expect(stderr).toMatch(/: has no tool$/m);
  });

  test("lists the tools that a component of the world describes", async () => {
    const { code, stdout } = await sandgate(["tool", "check", world]);
    expect(code).toBe(0);
    expect(stdout).toContain(`${world}: has the tool 'echo'\n`);
  });

  test("reports what registration would refuse, and why", async () => {
    const { code, stdout, stderr } = await sandgate(["tool", "check", core, text, invalid, single]);
    expect(code).toBe(2);
    expect(stdout).toContain("single.wasm: has the tool");
    const [first, second, third] = stderr.split("\n");
    expect(first).toContain("core.wasm: it is a core module, not a component");
    expect(second).toContain("text.wasm: it is not a WebAssembly component");
    expect(third).toMatch(/invalid\.wasm: a core module does not compile: /);
  });

  test("checks only the export that is named", async () => {
    const good = await sandgate(["tool", "check", several, "--export", "half"]);
    expect(good).toMatchObject({ code: 0, stdout: `${several}: has the tool 'half' (half)\n` });
    const refused = await sandgate(["tool", "check", several, "--export", "files#read"]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'files#read' cannot be a tool"),
    });
    const missing = await sandgate(["tool", "check", several, "--export", "third"]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("does not export 'third'") });
  });
});

describe("sandgate tool inspect", () => {
  test("prints exports with their schemas, and imports with the capabilities that they need", async () => {
    const { code, stdout } = await sandgate(["tool", "inspect", single]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      exports: [
        {
          name: "checked-half",
          type: "func(n: u32) -> result<u32, string>",
          inputSchema: {
            type: "object",
            properties: { n: { type: "integer", minimum: 0, maximum: 4_294_967_295 } },
            required: ["n"],
            additionalProperties: false,
          },
        },
      ],
      imports: [],
    });
    const wasi = await sandgate(["tool", "inspect", await wasiComponent()]);
    expect(JSON.parse(wasi.stdout).imports).toContainEqual({ name: "wasi:random/random", needs: "random" });
  });

  test("prints a bounded part of long types and many exports", async () => {
    const record = (fields: number): string =>
      `(record ${Array.from({ length: fields }, (_, i) => `(field "${"long-".repeat(20)}x${i}" u32)`).join(" ")})`;
    const some = Array.from({ length: 300 }, (_, index) => `(export "some-x${index}" (func $some))`);
    const long = await componentFile(
      "long.wasm",
      parse(`(component
        (core module $m
          (memory (export "memory") 1)
          (func (export "take") (param i32))
          (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 8))
        (core instance $i (instantiate $m))
        (type $big' ${record(400)})
        (export $big "big" (type $big'))
        (type $medium' ${record(100)})
        (export $medium "medium" (type $medium'))
        (func $take (param "b" $big)
          (canon lift (core func $i "take") (memory $i "memory") (realloc (func $i "realloc"))))
        (func $some (param "b" $medium)
          (canon lift (core func $i "take") (memory $i "memory") (realloc (func $i "realloc"))))
        (export "take" (func $take))
        ${some.join(" ")})`),
    );
    const { stdout } = await sandgate(["tool", "inspect", long]);
    const { exports: listed, omittedExports } = JSON.parse(stdout);
    expect(listed.length).toBeGreaterThan(10);
    expect(listed.length + omittedExports).toBe(301);
    expect(listed).toContainEqual({
      name: "take",
      type: expect.stringMatching(/^func\(b: record \{.{400,}….{400,}$/),
      omitted: "more than 65536 characters of schema",
    });
    expect(stdout.length).toBeLessThan(4_000_000);
  });

  test("escapes names that would control the terminal", async () => {
    const bytes = Buffer.from(await readFile(several));
    for (let at = bytes.indexOf("half"); at !== -1; at = bytes.indexOf("half", at))
      bytes.write("\u001b[2J", at);
    const hostile = await componentFile("hostile.wasm", bytes);
    for (const command of ["inspect", "check"]) {
      const { stdout, stderr } = await sandgate(["tool", command, hostile]);
      expect(stdout + stderr).not.toContain("\u001b");
      expect(stdout + stderr).not.toBe("");
    }
  });

  test("refuses what registration refuses", async () => {
    expect(await sandgate(["tool", "inspect", core])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("core.wasm: it is a core module"),
    });
  });
});

test("sandgate tool refuses missing and unknown arguments", async () => {
  for (const args of [["inspect"], ["inspect", "a", "b"], ["inspect", "a", "--input", "{}"]]) {
    expect(await sandgate(["tool", ...args])).toMatchObject({ code: 2, stdout: "" });
  }
  expect(await sandgate(["tool", "inspect", "--help"])).toMatchObject({ code: 0, stderr: "" });
});
