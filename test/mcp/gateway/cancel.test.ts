import { describe, expect, test } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import type { McpServer } from "../../../src/mcp/server/mcp-server.ts";
import type { HostContext } from "../../../src/tool/implementations/implementations.ts";
import { connectPair, PAIRS } from "./pairs.ts";

describe.each(PAIRS)("From a client of %s to a server of %s", (client, server) => {
  test("a client that cancels its call cancels that of the server", async () => {
    const seen: string[] = [];
    const waits = (): readonly Tool[] => [
      {
        name: "waits",
        description: "Waits.",
        inputSchema: { type: "object" },
        sideEffects: "read",
        host: async (_input: unknown, { signal }: HostContext) => {
          seen.push("called");
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          seen.push("cancelled");
          return "late";
        },
      } as unknown as Tool,
    ];
    await using pair = await connectPair([client, server], waits);
    const cancelling = new AbortController();
    const calling = pair.client.callTool({ name: "mcp_fixtures_waits" }, { signal: cancelling.signal });
    const ended = expect(calling).rejects.toThrow();
    await expect.poll(() => seen).toEqual(["called"]);
    cancelling.abort();
    await ended;
    await expect.poll(() => seen).toEqual(["called", "cancelled"]);
  });
});

// The other pairs have nothing to withdraw: a result of 2026-07-28 that asks for input has ended its request.
test("between 2025-11-25 and 2025-11-25, a form that the server withdraws is withdrawn", async () => {
  const withdrawing = new AbortController();
  const shown: string[] = [];
  const asks = (own: () => McpServer): readonly Tool[] => [
    {
      name: "asks",
      description: "Asks.",
      inputSchema: { type: "object" },
      sideEffects: "read",
      host: async (_input: unknown, context: HostContext) => {
        const requestedSchema = { type: "object", properties: { city: { type: "string" } } };
        const params = { message: "Which city?", requestedSchema };
        const request = { method: "elicitation/create", params } as const;
        const asked = own().clientOf(context)?.ask({ form: request }, withdrawing.signal);
        return await asked?.then(
          () => "answered",
          () => "withdrawn",
        );
      },
    } as unknown as Tool,
  ];
  await using pair = await connectPair(["2025-11-25", "2025-11-25"], asks, {
    person: async (_method, _params, signal) => {
      shown.push("shown");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      shown.push("withdrawn");
      return { action: "cancel" };
    },
  });
  const calling = pair.client.callTool({ name: "mcp_fixtures_asks" });
  await expect.poll(() => shown).toEqual(["shown"]);
  withdrawing.abort();
  expect(await calling).toMatchObject({ content: [{ type: "text", text: "withdrawn" }] });
  await expect.poll(() => shown).toEqual(["shown", "withdrawn"]);
});
