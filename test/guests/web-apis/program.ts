/** A process that makes the call of one case, and tells what it took: the parent sends the name. */
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { GrantedTool } from "../../sandboxes/quickjs/granted-tool.ts";
import { WEB_API_CASES } from "./cases.ts";
import { MEMORY_BYTES, WALL_TIME_MS, type WebApiCase, type WebApiReport } from "./web-api-case.ts";

const MIB = 2 ** 20;
const SAMPLE_MS = 2;

process.once("message", (name: string) => {
  const found = WEB_API_CASES.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no case '${name}'`);
  void measure(found).then((report) => process.send?.(report));
});

async function measure({ before = "", code, capabilities = {} }: WebApiCase): Promise<WebApiReport> {
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const harmless = new GrantedTool(sandboxes, "export default () => 1;");
  await harmless.call();
  const baseline = process.memoryUsage.rss();
  let highest = baseline;
  const sampling = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, SAMPLE_MS);
  // Code after an `await` runs in a job, and between two jobs the engine checks the deadline.
  const source = `export default async () => { ${before}; for (;;) { try { ${code} } catch {} } };`;
  const limits = { wallTimeMs: WALL_TIME_MS, memoryBytes: MEMORY_BYTES };
  const { error, receipt } = await new GrantedTool(sandboxes, source).call({ capabilities, limits });
  clearInterval(sampling);
  const { success } = await harmless.call();
  return {
    code: error?.code ?? "success",
    lateMs: receipt.used.wallTimeMs - WALL_TIME_MS,
    mayStillRun: receipt.mayStillRun === true,
    takenMiB: (highest - baseline) / MIB,
    echoes: success,
  };
}
