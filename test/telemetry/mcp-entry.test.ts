import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { mcpEntry } from "../../src/telemetry/call-log.ts";
import { Log } from "../../src/telemetry/log.ts";

function lineOf(kind: "stderr" | "server_down", message: string): string {
  const stream = new PassThrough();
  new Log({ stream, format: "text" }).write({ at: 0, ...mcpEntry({ kind, server: "files", message }) });
  return String(stream.read());
}

test("what a server says is in the log as foreign text, below the name of what happened", () => {
  const said = lineOf("stderr", "\u001b[2J\u202e\r\nerror mcp.server_down");
  expect(said).toMatch(/^1970-01-01T00:00:00\.000Z info {2}mcp\.stderr server=files message="[ -~]+"\n$/);
  expect(lineOf("server_down", "it ended too often")).toContain(
    'error mcp.server_down server=files message="it ended too often"',
  );
});
