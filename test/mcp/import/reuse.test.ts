import { expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { openMcp } from "../../../src/mcp/import/open-mcp.ts";
import { hostile, open } from "./open-hostile.ts";

test("connections whose options are the same are taken over, and the others end", async () => {
  const servers = { kept: hostile("exit-once"), changed: hostile("exit-once"), gone: hostile("ok") };
  await using opened = await open(servers);
  const { sandboxes, mcp: before } = opened;
  const registry = new ToolRegistry();
  const after = await openMcp({
    servers: { changed: hostile("exit-once", "another"), kept: hostile("exit-once"), more: hostile("ok") },
    registry,
    sandboxes,
    reuse: before,
  });
  expect(registry.names).toEqual(["mcp_changed_x", "mcp_kept_x", "mcp_more_x"]);
  const first = await opened.call("mcp_kept_x");
  await before.close();
  // The tools of the first import go on over the connection that both have.
  expect((await opened.call("mcp_kept_x")).output).toEqual(first.output);
  expect((await opened.call("mcp_gone_x")).error?.code).toBe("sandbox_unavailable");
  await after.close();
  expect((await opened.call("mcp_kept_x")).error?.code).toBe("sandbox_unavailable");
});
