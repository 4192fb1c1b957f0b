import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createFolder, sandgate } from "../../cli/sandgate.ts";

const root = dirname(dirname(dirname(import.meta.dirname)));
const text = readFileSync(`${root}/docs/cedar.md`, "utf8");
const generated = `${root}/.cache/docs-cedar`;
afterAll(() => rmSync(generated, { recursive: true, force: true }));

describe("docs/cedar.md", () => {
  test("has a program that allows one call, and denies two", async () => {
    const [, program = ""] = /^```ts\n(.*?)^```$/ms.exec(text) ?? [];
    mkdirSync(generated, { recursive: true });
    writeFileSync(`${generated}/program.ts`, program);
    const lines: unknown[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line) => lines.push(line));
    await import(`${generated}/program.ts`).finally(() => log.mockRestore());
    expect(lines.slice(0, 3)).toEqual([
      "500 cents to bob",
      "Permission denied: tool 'transfer' requires confirmation, and no approver is available",
      "Permission denied: tool 'transfer' is disabled by policy",
    ]);
    expect(lines[3]).toContain('action "transfer" appliesTo');
  });

  test("has a policy of a config that allows a call of its program, with its limit", async () => {
    const [, policy = ""] = /^```yaml\n(.*?)^```$/ms.exec(text) ?? [];
    const [, policies = ""] = /policies: `\n(.*?)`,/ms.exec(text) ?? [];
    const folder = await createFolder({
      "sandgate.yaml": `tools:
  - name: transfer
    description: Transfers money
    inputSchema: { type: object, properties: { to: { type: string }, cents: { type: integer } }, required: [to, cents] }
    host: { module: tools.mjs, export: run, thread: false }
${policy}`,
      "policies.cedar": policies,
      "tools.mjs": "export const run = () => 'done';",
    });
    const config = ["--config", join(folder, "sandgate.yaml")];
    expect(await sandgate(["check", ...config])).toMatchObject({ code: 0, stderr: "" });
    const principal = JSON.stringify({ id: "ann", kind: "user", roles: ["payer"] });
    const call = JSON.stringify({ tool: "transfer", arguments: { to: "bob", cents: 500 } });
    const argv = ["policy", "explain", ...config, "--principal", principal, "--call", call];
    const { stdout } = await sandgate(argv);
    expect(stdout).toContain("allow: transfer runs in host\n");
    expect(stdout).toContain("  limit wallTime 5s: from 'small amounts'\n");
  });
});
