import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { JsonObject, JsonValue } from "../../../src/json/value.ts";
// Inside: its server over stdio is a function, whose requests are recorded; the face starts a program.
import { FollowedLists } from "../../../src/mcp/import/followed-lists.ts";
import { ServerTools } from "../../../src/mcp/import/server-tools.ts";
import { ImportedClasses, ToolNames } from "../../../src/mcp/import/tool-name.ts";
import { type Answer, connectionTo } from "./text-server.ts";

/** Answers as a server of 2026-07-28 over stdio. */
function modern(
  tools: () => readonly JsonValue[],
  more: (method: string, params: JsonObject) => JsonValue | undefined,
): Answer {
  const common = { resultType: "complete", ttlMs: 60_000, cacheScope: "private" };
  return (method, params) => {
    if (method === "server/discover") {
      const _meta = { "io.modelcontextprotocol/serverInfo": { name: "modern", version: "1" } };
      return {
        ...common,
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: { listChanged: true } },
        _meta,
      };
    }
    if (method === "tools/list") return { ...common, tools: tools() };
    return more(method, params);
  };
}

const X = { name: "x", inputSchema: { type: "object" } };

async function follow(answer: Answer) {
  const { connection, servers, notices } = connectionTo("s", answer);
  const registry = new ToolRegistry();
  const tools = new ServerTools({
    connection,
    registry,
    classes: new ImportedClasses(),
    names: new ToolNames(),
  });
  const followed = new FollowedLists({
    connection,
    lists: tools,
    kinds: ["tools"] as const,
    onNotice: (notice) => notices.push(notice),
    onRefreshed: () => {},
  });
  const problem = await followed.open(Promise.resolve());
  const close = async (): Promise<void> => {
    followed.close();
    await connection.close();
  };
  return { connection, servers, notices, registry, problem, close };
}

describe("A server of 2026-07-28 over stdio", () => {
  test("is asked server/discover first, and never initialize", async () => {
    const { servers, connection, close } = await follow(
      modern(
        () => [X],
        () => undefined,
      ),
    );
    const methods = servers.flatMap(({ received }) => received.map(({ method }) => method));
    expect(methods[0]).toBe("server/discover");
    expect(methods).not.toContain("initialize");
    expect(connection.info).toMatchObject({ protocolVersion: "2026-07-28", name: "modern" });
    await close();
  });

  test("sends its protocol version and its capabilities with each request", async () => {
    const { servers, close } = await follow(
      modern(
        () => [X],
        () => undefined,
      ),
    );
    const list = servers[0]?.received.find(({ method }) => method === "tools/list");
    expect(list?.["params"]).toMatchObject({
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    });
    await close();
  });

  test("tells of changed tools over a subscription, and its tools are listed again", async () => {
    let tools = [X];
    let subscription: JsonValue = null;
    const { servers, registry, close } = await follow(
      modern(
        () => tools,
        (method) => {
          if (method !== "subscriptions/listen") return undefined;
          subscription = "asked";
          return undefined;
        },
      ),
    );
    await expect.poll(() => subscription).toBe("asked");
    const _meta = { "io.modelcontextprotocol/subscriptionId": "listen:0" };
    const notifications = { toolsListChanged: true };
    servers[0]?.say({ method: "notifications/subscriptions/acknowledged", params: { _meta, notifications } });
    tools = [X, { ...X, name: "y" }];
    servers[0]?.say({ method: "notifications/tools/list_changed", params: { _meta } });
    await expect.poll(() => registry.names).toEqual(["mcp_s_x", "mcp_s_y"]);
    await close();
  });

  test("that closes the subscription is asked for another one, and its tools are listed again", async () => {
    let tools = [X];
    const subscribed: JsonValue[] = [];
    const { servers, registry, close } = await follow(
      modern(
        () => tools,
        (method, params) => {
          if (method === "subscriptions/listen") subscribed.push(params);
          return undefined;
        },
      ),
    );
    const acknowledge = (subscription: number): void => {
      const _meta = { "io.modelcontextprotocol/subscriptionId": `listen:${subscription}` };
      const params = { _meta, notifications: { toolsListChanged: true } };
      servers[0]?.say({ method: "notifications/subscriptions/acknowledged", params });
    };
    await expect.poll(() => subscribed.length).toBe(1);
    acknowledge(0);
    await new Promise(setImmediate);
    tools = [X, { ...X, name: "y" }];
    const _meta = { "io.modelcontextprotocol/subscriptionId": "listen:0" };
    servers[0]?.say({ id: "listen:0", result: { resultType: "complete", _meta } });
    await expect.poll(() => subscribed.length, { timeout: 5_000 }).toBe(2);
    expect(subscribed[1]).toEqual(subscribed[0]);
    acknowledge(1);
    await expect.poll(() => registry.names).toEqual(["mcp_s_x", "mcp_s_y"]);
    await close();
  });

  test("is told of a cancellation by a notification", async () => {
    const { servers, registry, close } = await follow(
      modern(
        () => [X],
        () => undefined,
      ),
    );
    const cancelling = new AbortController();
    const { remote } = registry.get("mcp_s_x");
    if (remote === undefined || !("mcp" in remote)) throw new Error("the tool is no tool of MCP");
    const calling = remote.mcp.call({}, { signal: cancelling.signal });
    await expect.poll(() => servers[0]?.received.at(-1)?.["method"]).toBe("tools/call");
    cancelling.abort("cancelled");
    expect(await calling).toEqual({ status: "cancelled", sent: true });
    expect(servers[0]?.received.at(-1)?.["method"]).toBe("notifications/cancelled");
    await close();
  });

  test("that is silent at first is spoken to in 2025-11-25", async () => {
    const answer: Answer = (method) => {
      if (method === "server/discover") return undefined;
      if (method === "initialize") {
        return {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "old", version: "1" },
        };
      }
      return method === "tools/list" ? { tools: [X] } : undefined;
    };
    const { connection, problem, close } = await follow(answer);
    expect(problem).toBeUndefined();
    expect(connection.info?.protocolVersion).toBe("2025-11-25");
    await close();
  });
});
