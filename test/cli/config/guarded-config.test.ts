import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { guardedFiles } from "../../../src/base/guarded-files.ts";
import { COMMANDS } from "../../../src/cli/run.ts";
import { createFolder, sandgate } from "../sandgate.ts";

/** What each command that takes a config is given besides. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  bench: ["add"],
  check: [],
  console: [],
  dispatch: ["message.json"],
  doctor: [],
  "journal archive": ["--to", "archive", "--before", "2020-01-01T00:00:00Z"],
  "journal forget": ["--session", "s1"],
  "journal replay": [],
  "journal show": [],
  "journal tail": [],
  "journal verify": [],
  "mcp add": ["server", "--", "no-such-program"],
  "mcp diff": [],
  "mcp import": ["--server", "a", "missing.json"],
  "mcp install": [],
  "mcp login": ["server"],
  "mcp logout": ["server"],
  "mcp pin": [],
  "mcp serve": [],
  "mcp update": ["server"],
  "policy attack": [],
  "policy explain": ["--call", '{"tool":"add"}'],
  "policy prove": [],
  "policy test": [],
  "programs cancel": ["p1"],
  "programs list": [],
  "programs show": ["p1"],
  serve: ["--listen", "127.0.0.1:0"],
  supervise: ["--unconfined", "--", "sleep", "1000"],
  why: ["call-1"],
};

/** They write the hooks of agents, or read them, and run no tool; the daemon ends before `serve` if it has no key. */
const WITHOUT_TOOLS = ["guard install", "guard status", "guard uninstall", "guard daemon"];

test.each(
  COMMANDS.filter(({ options }) => "config" in options)
    .map(({ name }) => name)
    .filter((name) => !WITHOUT_TOOLS.includes(name)),
)("sandgate %s --config keeps the config from tools", { timeout: 60_000 }, async (name) => {
  const folder = realpathSync(await createFolder({}));
  const config = join(folder, "other.yaml");
  writeFileSync(
    config,
    "tools:\n  - { name: add, description: Adds, inputSchema: { type: object }, quickjs: { source: 'export default () => 1' } }\n" +
      "policy: { rules: [{ tools: [add], effect: allow, sandboxes: [quickjs] }] }\n" +
      "agents: { one: { tools: [add] } }\njournal: { directory: journal }\n",
  );
  const given = ARGUMENTS[name];
  expect(given, `what '${name}' is given`).toBeDefined();
  const interruption = new AbortController();
  const at = given?.indexOf("--") ?? -1;
  const [before, after] = at < 0 ? [given ?? [], []] : [given?.slice(0, at) ?? [], given?.slice(at) ?? []];
  const running = sandgate([...name.split(" "), ...before, "--config", config, ...after], {
    signal: interruption.signal,
  });
  const isGuarded = (): boolean =>
    guardedFiles().some(({ path, access }) => path === config && access === "read");
  await Promise.race([running, vi.waitFor(() => expect(isGuarded()).toBe(true), { timeout: 20_000 })]);
  interruption.abort();
  const outcome = await running;
  expect(isGuarded(), JSON.stringify(outcome)).toBe(true);
});
