import { freezeJson, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { McpCallEnd } from "../../../tool/implementations/mcp-implementation.ts";
import { shorten } from "../../contract/failure-text.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import { blocksOf } from "./content.ts";

/** The most bytes of a message of a server that the model reads. */
const MAX_MESSAGE_BYTES = 16_384;

/** How a call ended, and why it was stopped, if it was. */
export interface EndOfTask {
  readonly end: McpCallEnd;
  readonly cause: "timeout" | "cancelled" | undefined;
  readonly wallTimeMs: number;
}

/**
 * Makes the outcome of a call. The whole result is `metadata.mcp`, for those who pass it on.
 *
 * @param outputBytes The most bytes of the result as JSON text.
 */
export function outcomeOf({ end, cause, wallTimeMs }: EndOfTask, outputBytes: number): SandboxOutcome {
  const used = { wallTimeMs };
  switch (end.status) {
    case "result":
      return resultOutcome(end.result, wallTimeMs, outputBytes);
    case "error": {
      const effect = end.refused ? "none" : "unknown";
      const message = shorten(end.message, MAX_MESSAGE_BYTES);
      return { status: "failed", effect, used, message, detail: `JSON-RPC error ${end.code}` };
    }
    case "malformed": {
      const { message, detail } = end;
      const failed = { status: "failed", effect: "unknown", used, message, userVisible: true } as const;
      return detail === undefined ? failed : { ...failed, detail };
    }
    case "unavailable":
      return { status: "unavailable", effect: end.sent ? "unknown" : "none", used, detail: end.detail };
    default:
      return end.sent
        ? { status: cause ?? "cancelled", effect: "unknown", used, mayStillRun: true, ended: "told" }
        : {
            status: cause ?? "cancelled",
            effect: "none",
            used,
            ...(cause === "timeout" && { hasBegun: false }),
          };
  }
}

function resultOutcome(result: JsonObject, wallTimeMs: number, maxBytes: number): SandboxOutcome {
  const outputBytes = Buffer.byteLength(JSON.stringify(result));
  const used = { wallTimeMs, outputBytes };
  const isError = result["isError"] === true;
  // A tool that reports an error may have done something before.
  const effect = isError ? "unknown" : "committed";
  if (outputBytes > maxBytes) return { status: "limit_exceeded", limit: "outputBytes", effect, used };
  const output = { content: blocksOf(result), success: !isError, metadata: { mcp: result } };
  return { status: "completed", effect, used, output: freezeJson(output as unknown as JsonValue) };
}
