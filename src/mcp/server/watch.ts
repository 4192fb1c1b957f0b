import type { LoggingLevel, ServerContext } from "@modelcontextprotocol/server";
import { beginning } from "../../base/text.ts";
import { toLine } from "../../rendering/shown.ts";
import type { LogLevel } from "../../tool/log-level.ts";
import type { RunWatch } from "./runs/runs.ts";

/** The most characters of one notification. */
const MAX_CHARS = 4_000;
/** The most notifications of one request: a client must not be flooded by a tool. */
const MAX_NOTIFICATIONS = 10_000;

const LEVELS: Readonly<Record<LogLevel, LoggingLevel>> = {
  debug: "debug",
  info: "info",
  warn: "warning",
  error: "error",
};

/** Tells a client what happens to a call: progress if its request has a token for that, and logs if it wants them. */
export function watchOf({ mcpReq }: ServerContext): RunWatch {
  const progressToken = mcpReq._meta?.progressToken;
  let progress = 0;
  let logs = 0;
  return {
    onOutput: (chunk) => {
      if (progressToken === undefined || progress >= MAX_NOTIFICATIONS) return;
      progress++;
      const params = { progressToken, progress, message: beginning(chunk, MAX_CHARS) };
      // The client may be gone.
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    },
    onProgress: ({ progress: done, total, message }) => {
      if (progressToken === undefined || progress >= MAX_NOTIFICATIONS) return;
      progress++;
      const params = {
        progressToken,
        progress: done,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message: beginning(message, MAX_CHARS) }),
      };
      mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
    },
    onLog: (level, message) => {
      if (logs++ >= MAX_NOTIFICATIONS) return;
      const written = LEVELS[level as LogLevel] ?? "info";
      mcpReq.log(written, toLine(message, MAX_CHARS)).catch(() => {});
    },
  };
}
