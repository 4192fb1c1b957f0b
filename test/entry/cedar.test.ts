import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("sandgate/cedar and sandgate are loaded without the peer, and opening a policy names what to install", async () => {
  const entry = (name: string): string => JSON.stringify(import.meta.resolve(`../../src/entry/${name}.ts`));
  // The package is installed here, so that its name must not be resolved.
  const program = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve: (name, context, next) => {
        if (name.startsWith("@cedar-policy/")) throw new Error("Cannot find package " + name);
        return next(name, context);
      },
    });
    const { RulePolicy } = await import(${entry("index")});
    const { cedarSchemaText, openCedarPolicy } = await import(${entry("cedar")});
    const options = { policies: "", tools: [], grants: {} };
    for (const open of [() => openCedarPolicy(options), () => cedarSchemaText([])])
      console.log(typeof RulePolicy, await open().then(() => "opened", ({ message }) => message));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  const missing =
    "function Cedar policies need the package @cedar-policy/cedar-wasm: install its version 4.13\n";
  expect(stdout).toBe(missing.repeat(2));
});
