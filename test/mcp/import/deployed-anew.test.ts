import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json/value.ts";
import { LockPins, registeredDefinitions } from "../../../src/pins/lock-file.ts";
import type { SideEffects } from "../../../src/tool/side-effects.ts";
import { bodyOf, type Served, serve } from "./http-servers.ts";
import { open } from "./open-hostile.ts";

const ECHO = { name: "echo", description: "Echoes.", inputSchema: { type: "object" } };

/** Answers a request whose session the server does not know. */
type Refusal = (response: ServerResponse, id: number | string | undefined) => void;

function refuse(status: number, body: object | string, type = "application/json"): Refusal {
  return (response) => {
    response.writeHead(status, { "content-type": type });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const error = (id: unknown, message: string): object => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32_001, message },
});

interface Deployment extends Served {
  tools: object[];
  refusal: Refusal;
  /** What the server did, in order: `initialize`, and the names of called tools. */
  readonly done: string[];
  /** Whether it runs a call before it refuses the session. */
  runsFirst: boolean;
  /** Forgets all sessions, as a new process does, and ends their streams. */
  deployAnew(): void;
}

/** A server of 2025-11-25 that knows the sessions of one process. */
async function deploy({ streams = false } = {}): Promise<Deployment> {
  const sessions = new Set<string>();
  const open = new Set<ServerResponse>();
  let count = 0;
  const served = await serve(async (request, response) => {
    const session = String(request.headers["mcp-session-id"]);
    if (request.method === "GET") {
      if (!streams) return void response.writeHead(405).end();
      if (!sessions.has(session)) return void response.writeHead(404).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("retry: 1\n: open\n\n");
      open.add(response);
      return;
    }
    if (request.method === "DELETE") return void response.writeHead(204).end();
    const { id, method, params } = await bodyOf(request);
    const answer = (result: object, headers = {}): void => {
      response.writeHead(200, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    };
    if (method === "server/discover") return refuse(400, "Bad Request")(response, id);
    if (method === "initialize") {
      const opened = `session-${++count}`;
      sessions.add(opened);
      deployment.done.push(method);
      const serverInfo = { name: "deployed", version: "1" };
      const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
      return answer(result, { "mcp-session-id": opened });
    }
    if (!sessions.has(session)) {
      if (deployment.runsFirst && method === "tools/call") deployment.done.push(String(params.name));
      return deployment.refusal(response, id);
    }
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/list") return answer({ tools: deployment.tools });
    if (method !== "tools/call") return answer({});
    deployment.done.push(String(params.name));
    answer({ content: [{ type: "text", text: session }] });
  });
  const deployment: Deployment = {
    ...served,
    tools: [ECHO],
    refusal: refuse(404, error(null, "Session not found")),
    done: [],
    runsFirst: false,
    deployAnew: () => {
      sessions.clear();
      for (const response of open) response.end();
      open.clear();
    },
  };
  return deployment;
}

const said = (execution: { output: unknown }): unknown =>
  (execution.output as { content?: [{ text: string }] } | null)?.content?.[0]?.text;

async function openDeployed(deployment: Deployment, sideEffects: SideEffects = "write") {
  return await open({ web: deployment.options }, { classes: { "*": sideEffects } });
}

describe("An MCP server over HTTP that was deployed anew", () => {
  test("gets a new session, in which a call is sent again that met 404", async () => {
    await using deployment = await deploy();
    await using opened = await openDeployed(deployment);
    expect(said(await opened.call("mcp_web_echo"))).toBe("session-1");
    deployment.deployAnew();
    expect(said(await opened.call("mcp_web_echo"))).toBe("session-2");
    expect(deployment.done).toEqual(["initialize", "echo", "initialize", "echo"]);
    expect(opened.notices.map(({ kind }) => kind)).toEqual(["connected", "ended", "connected"]);
    expect(opened.notices[1]?.message).toContain("it no longer knows the session (HTTP 404)");
  });

  test("gets one new session, however many calls meet 404 at once", async () => {
    await using deployment = await deploy();
    await using opened = await openDeployed(deployment);
    await opened.call("mcp_web_echo");
    deployment.deployAnew();
    const calls = await Promise.all(Array.from({ length: 20 }, () => opened.call("mcp_web_echo")));
    expect(calls.map(said)).toEqual(Array(20).fill("session-2"));
    expect(deployment.done.filter((each) => each === "initialize")).toHaveLength(2);
  });

  test("may be deployed anew many times", async () => {
    await using deployment = await deploy();
    await using opened = await openDeployed(deployment);
    for (let session = 1; session <= 12; session++) {
      expect(said(await opened.call("mcp_web_echo"))).toBe(`session-${session}`);
      deployment.deployAnew();
    }
    expect(opened.notices.some(({ kind }) => kind === "server_down")).toBe(false);
  });

  test("that never knows a session fails each call with the effect none, and is not asked in a loop", async () => {
    await using deployment = await deploy();
    await using opened = await openDeployed(deployment);
    await opened.call("mcp_web_echo");
    deployment.deployAnew();
    const before = deployment.requests.length;
    deployment.refusal = (response, id) => {
      deployment.deployAnew();
      refuse(404, error(null, "Session not found"))(response, id);
    };
    deployment.tools = [];
    expect((await opened.call("mcp_web_echo")).error).toMatchObject({
      code: "sandbox_unavailable",
      effect: "none",
    });
    expect(deployment.requests.length - before).toBeLessThan(20);
  });

  test.each<[string, Refusal]>([
    ["400", refuse(400, error(null, "Bad Request: No valid session ID provided"))],
    ["400 as text", refuse(400, "Bad Request: no session", "text/plain")],
    ["502 of a proxy", refuse(502, "<h1>Bad Gateway</h1>", "text/html")],
    ["503 of a proxy", refuse(503, "<h1>Service Unavailable</h1>", "text/html")],
    [
      "200 and an error about the session",
      (response, id) => refuse(200, error(id, "Session expired"))(response, id),
    ],
    ["200 and an error that names no request", refuse(200, error(null, "Session not found"))],
    [
      "200 and an event with an error about the session",
      (response, id) =>
        refuse(
          200,
          `data: ${JSON.stringify(error(id, "Invalid session"))}\n\n`,
          "text/event-stream",
        )(response, id),
    ],
  ])("that answers %s has later calls in a new session; it is not known what this call did", async (_, refusal) => {
    await using deployment = await deploy();
    await using opened = await openDeployed(deployment);
    await opened.call("mcp_web_echo");
    deployment.deployAnew();
    Object.assign(deployment, { refusal, runsFirst: true });
    const { error: failure } = await opened.call("mcp_web_echo");
    expect(failure?.effect).toBe("unknown");
    // Without these words, the model would simply call the tool again; an error of the server has its own.
    if (failure?.code === "sandbox_unavailable")
      expect(failure.message).toBe(
        "The 'remote' sandbox of tool 'mcp_web_echo' was lost during the call; whether it took effect is not known",
      );
    expect(said(await opened.call("mcp_web_echo"))).toBe("session-2");
    expect(deployment.done).toEqual(["initialize", "echo", "echo", "initialize", "echo"]);
    expect(opened.notices.map(({ kind }) => kind)).toContain("ended");
  });

  test.each<[SideEffects, string]>([
    ["none", "session-2"],
    ["read", "session-2"],
  ])("has a call of the class %s sent again even after a 503", async (sideEffects, session) => {
    await using deployment = await deploy();
    await using opened = await openDeployed(deployment, sideEffects);
    await opened.call("mcp_web_echo");
    deployment.deployAnew();
    deployment.refusal = refuse(503, "Service Unavailable", "text/plain");
    expect(said(await opened.call("mcp_web_echo"))).toBe(session);
  });

  test("is found out when its stream cannot be opened again", async () => {
    await using deployment = await deploy({ streams: true });
    await using opened = await openDeployed(deployment);
    await opened.call("mcp_web_echo");
    await expect.poll(() => deployment.requests.some(({ method }) => method === "GET")).toBe(true);
    deployment.deployAnew();
    await expect
      .poll(() => deployment.done.filter((each) => each === "initialize").length, { timeout: 10_000 })
      .toBe(2);
  });

  test("has its tools listed again: a call with another definition is not sent", async () => {
    await using deployment = await deploy();
    await using opened = await openDeployed(deployment);
    const { registry } = opened;
    registry.pins = new LockPins(registeredDefinitions(registry, new Map()));
    expect((await opened.call("mcp_web_echo")).success).toBe(true);
    deployment.deployAnew();
    deployment.tools = [{ ...ECHO, description: "Echoes, and more." }];
    const { error: failure } = await opened.call("mcp_web_echo");
    expect(failure).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    await expect.poll(() => registry.definitions()).toEqual([]);
    expect((await opened.call("mcp_web_echo")).error?.code).toBe("permission_denied");
    expect(deployment.done).toEqual(["initialize", "echo", "initialize"]);
  });

  test("has its new tools offered", async () => {
    await using deployment = await deploy();
    await using opened = await openDeployed(deployment);
    await opened.call("mcp_web_echo");
    deployment.deployAnew();
    deployment.tools = [ECHO, { ...ECHO, name: "other" }];
    expect((await opened.call("mcp_web_echo")).success).toBe(true);
    await expect.poll(() => opened.registry.names).toEqual(["mcp_web_echo", "mcp_web_other"]);
  });

  test("lets a call end that another process of the server still works on", async () => {
    const release = Promise.withResolvers<void>();
    await using deployment = await deploy();
    const slow: JsonObject = { ...ECHO, name: "slow" };
    deployment.tools = [ECHO, slow];
    await using opened = await openDeployed(deployment);
    await opened.call("mcp_web_echo");
    deployment.deployAnew();
    const { refusal } = deployment;
    // The old process goes on with the call that it has, and the new one does not know the session.
    deployment.refusal = (response, id) => {
      deployment.refusal = refusal;
      const result = { content: [{ type: "text", text: "late" }] };
      void release.promise.then(() => refuse(200, { jsonrpc: "2.0", id, result })(response, id));
    };
    const late = opened.call("mcp_web_slow");
    await expect.poll(() => deployment.refusal).toBe(refusal);
    expect(said(await opened.call("mcp_web_echo"))).toBe("session-2");
    release.resolve();
    expect(said(await late)).toBe("late");
  });
});
