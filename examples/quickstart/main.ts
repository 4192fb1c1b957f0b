/**
 * Dispatches the calls of one assistant message to the host, wasm, quickjs and remote sandboxes, and checks the result
 * of each. Then a session of a server asks about a call, and is answered over HTTP. Run it from the root of the
 * repository: `npm start`. With `npm start -- --console`, it makes the calls once more in a console, until Ctrl+C.
 */
import { once } from "node:events";
import { loadPolicyFile, openSandboxes, ToolDispatchEngine } from "sandgate";
import { askOnce } from "./ask.ts";
import { CALLS } from "./calls.ts";
import { serveConsole } from "./console.ts";
import { startLicenseServer } from "./license-server.ts";
import { registerTools } from "./tools.ts";
import { buildComponent } from "./wasm/build.ts";

const server = await startLicenseServer();
const component = await buildComponent();
const registry = registerTools({ component, licenseUrl: server.url });
const { policy } = await loadPolicyFile(`${import.meta.dirname}/policy.yaml`, registry.subjects);

const engine = new ToolDispatchEngine();
await using sandboxes = await openSandboxes();
for (const tool of registry.tools) await sandboxes.prepare(tool);

const calls = CALLS.map(({ call }) => call);
const executions = await engine.dispatchAll(calls, { registry, policy, sandboxes, sessionId: "quickstart" });

const rows = executions.map((execution, index) => ({
  call: calls[index]?.id,
  tool: calls[index]?.name,
  sandbox: execution?.sandbox ?? "-",
  outcome: execution?.error?.code ?? "ok",
  "what the model reads": (execution?.error?.message ?? JSON.stringify(execution?.output)).slice(0, 60),
  ms: Math.round(execution?.durationMs ?? 0),
  "as expected": execution !== null && CALLS[index]?.holds(execution) ? "yes" : "NO",
}));
console.table(rows);

const wrong = rows.filter((row) => row["as expected"] === "NO").length;
console.log(
  wrong === 0
    ? `All ${rows.length} calls had the expected result.`
    : `${wrong} calls had an unexpected result.`,
);
for (const line of await askOnce()) console.log(line);
process.exitCode = wrong === 0 ? 0 : 1;

if (process.argv.includes("--console")) {
  const { link, close } = await serveConsole({ registry, policy, sandboxes }, calls);
  console.log(`The calls in a console: ${link} (works once, for 10 minutes; Ctrl+C ends it)`);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  await close();
} else console.log("See the calls in a console: npm start -- --console");
server.close();
