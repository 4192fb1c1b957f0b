import { realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeServer, open } from "../mcp/import/open-hostile.ts";

// A granted path must not lead through a link.
const SCRIPT = realpathSync(join(process.env["SANDGATE_CORPORA"] ?? "", "mcp/hostile-stdio.mjs"));

/** What becomes of the server in each mode: its tools, and the code of a call of `x` (`ok` if it succeeds). */
const MODES: readonly (readonly [mode: string, tools: number, call?: string])[] = [
  ["ok", 1, "ok"],
  ["tools-dupe", 0],
  ["tools-bad-schema", 2],
  ["tools-10k", 10_000],
  ["tools-inject", 1, "ok"],
  ["stdout-noise", 1, "ok"],
  ["stderr-flood", 1, "ok"],
  ["no-start", 0],
  ["exit-now", 0],
  ["ignore-sigterm", 1, "ok"],
  ["notify-flood", 1, "ok"],
  ["listchanged-flood", 1, "ok"],
  ["init-hang", 0],
  ["init-badver", 0],
  ["init-error", 0],
  ["init-huge", 0],
  ["list-loop", 0],
  ["list-endless", 0],
  ["list-not-array", 0],
  ["call-hang", 1, "timeout"],
  ["call-exit", 1, "sandbox_unavailable"],
  ["call-sigkill", 1, "sandbox_unavailable"],
  ["call-wrong-id", 1, "timeout"],
  ["call-notjson", 1, "execution_error"],
  ["call-schema-break", 1, "execution_error"],
  ["call-ansi", 1, "ok"],
  ["call-reverse-sampling", 1, "timeout"],
];

const CASES = MODES.map(([mode, tools, end = "none"]) => ({ mode, tools, end }));

/** The servers of these modes never get ready. */
const HANGING = ["no-start", "init-hang"];

test.each(CASES)("the server in the mode $mode has $tools tools, and a call ends with $end", async (each) => {
  // Only what hangs reaches the longer limits, also on a busy machine.
  const connectTimeoutMs = HANGING.includes(each.mode) ? 3_000 : 50_000;
  await using opened = await open({ h: nodeServer(SCRIPT, each.mode) }, { connectTimeoutMs });
  expect(opened.registry.size).toBe(each.tools);
  if (each.end === "none") return;
  const { success, error } = await opened.call(
    "mcp_h_x",
    { a: "1" },
    {
      wallTimeMs: each.end === "timeout" ? 1_500 : 30_000,
    },
  );
  expect(success ? "ok" : error?.code).toBe(each.end);
});
