import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const INDEX = resolve(import.meta.dirname, "../../src/entry/index.ts");

/** The packages that a fresh process has loaded after it ran some code. */
async function packagesLoadedBy(code: string): Promise<readonly string[]> {
  const program = `
    import { registerHooks } from "node:module";
    const packages = new Set();
    registerHooks({
      load(url, context, next) {
        const [, name] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
        if (name !== undefined) packages.add(name);
        return next(url, context);
      },
    });
    const sandgate = await import(${JSON.stringify(INDEX)});
    ${code}
    console.log(JSON.stringify([...packages]));`;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program]);
  return JSON.parse(stdout);
}

const HEAVY = ["ajv", "ajv-formats", "re2js", "yaml", "undici", "piscina"];

test("importing the package loads no validator, parser, HTTP client, pool or engine", async () => {
  const loaded = await packagesLoadedBy("");
  expect(loaded.filter((name) => HEAVY.includes(name) || /quickjs|jco/.test(name))).toEqual([]);
});

test("a program whose JavaScript tools use no network loads no HTTP client", async () => {
  const loaded = await packagesLoadedBy(`
    const registry = new sandgate.ToolRegistry().register({
      name: "echo", description: "", inputSchema: {}, quickjs: { source: "export default (input) => input" },
    });
    const sandboxes = await sandgate.openSandboxes({ workers: { threads: 1 } });
    const policy = new sandgate.RulePolicy({
      rules: [{ tools: ["*"], effect: "allow", sandboxes: ["quickjs"] }],
    });
    const context = { registry, policy, sandboxes, sessionId: "session" };
    const call = { id: "1", name: "echo", arguments: "{}" };
    const execution = await new sandgate.ToolDispatchEngine().dispatch(call, context);
    if (!execution.success) throw new Error(execution.error.message);
    await sandboxes.close();`);
  expect(loaded).toContain("ajv");
  expect(loaded).not.toContain("undici");
});

test("a program that runs functions in its own process loads the validator, and nothing more", async () => {
  const loaded = await packagesLoadedBy(`
    const registry = new sandgate.ToolRegistry().register({
      name: "echo", description: "", inputSchema: { type: "object" }, host: (input) => input,
    });
    const sandboxes = await sandgate.openSandboxes();
    const policy = new sandgate.RulePolicy({
      rules: [{ tools: ["*"], effect: "allow", sandboxes: ["host"] }],
    });
    const context = { registry, policy, sandboxes, sessionId: "session" };
    const call = { id: "1", name: "echo", arguments: "{}" };
    const execution = await new sandgate.ToolDispatchEngine().dispatch(call, context);
    if (!execution.success) throw new Error(execution.error.message);
    await sandboxes.close();`);
  const heavy = loaded.filter((name) => HEAVY.includes(name) || /quickjs|jco/.test(name));
  expect(heavy.sort()).toEqual(["ajv", "ajv-formats"]);
});
