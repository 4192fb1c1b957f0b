import { connect } from "node:net";
import { expect, test } from "vitest";
import { Client, mayUse } from "../../../src/http/clients.ts";
import type { RefusedRequest } from "../../../src/http/refusals.ts";
import type { Server } from "../../../src/server/server.ts";
import { dispatchBody } from "../../executor/harness.ts";
import { startConsole } from "../console/console.ts";
import {
  type ClientName,
  ROUTE_ACCESS,
  startServer,
  TestClient,
  TOKENS,
  WITH_EXECUTOR,
  WritingTool,
} from "../harness.ts";

const CALL = { id: "c1", name: "write_note", arguments: { text: "hi" } };

/** Sends exactly these lines over a connection, and returns the status of the first response; 0 if there is none. */
function raw(server: Server, lines: readonly string[], body = ""): Promise<number> {
  const [host = "", port = ""] = server.address.split(":");
  return new Promise((resolve) => {
    const socket = connect(Number(port), host, () => socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`));
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("\r\n\r\n")) socket.destroy();
    });
    socket.setTimeout(1_000, () => socket.destroy());
    socket.on("error", () => {});
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)));
  });
}

/** Ways to write a request for a route that a careless check takes for another one. */
function disguises(method: string, path: string): readonly (readonly [string, string, ...string[]])[] {
  const encoded = path.replace(/[a-z](?=[^/]*$)/, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return [
    ...["HEAD", "OPTIONS", "TRACE", "PROPFIND", method.toLowerCase()].map((odd) => [odd, path] as const),
    [method, `/${path}`],
    [method, path.replace("/v1/", "/v1//")],
    [method, `${path}/`],
    [method, `/x/..${path}`],
    [method, `/%2e%2e${path}`],
    [method, encoded],
    [method, path.toUpperCase()],
    [method, `${path};a=b`],
    [method, `${path}%00`],
    [method, path.replaceAll("/", "\\")],
    [method, `http://other.example${path}`],
    [method, path, "x-http-method-override: GET"],
    [method, path, `x-original-url: /healthz`, "x-forwarded-for: 127.0.0.1"],
    [method, path, "upgrade: websocket", "connection: upgrade"],
    [method, path, "upgrade: sandgate-frames", "connection: upgrade"],
  ];
}

const ROUTES = Object.entries(ROUTE_ACCESS).filter(
  ([route, { roles }]) => roles.length > 0 && !/:|events/.test(route),
);

test.each(Object.keys(TOKENS) as ClientName[])("%s passes no door in disguise", async (name) => {
  const writing = new WritingTool();
  const server = await startConsole([writing.tool], { mcp: {}, ...WITH_EXECUTOR });
  const { roles = [] } = WITH_EXECUTOR.credentials?.find(({ id }) => id === name) ?? {};
  const client = new Client(
    { caller: name, credential: "", principal: { id: name, kind: "service" }, isSigned: false },
    { roles },
  );
  const body = String(dispatchBody({ name: "write_note" }));
  for (const [route, access] of ROUTES) {
    if (mayUse(access, client)) continue;
    const [method = "", path = ""] = route.split(" ");
    const reads = ROUTE_ACCESS[`GET ${path}`];
    for (const [verb, target, ...more] of disguises(method, path)) {
      // The head of what it may read.
      if (verb === "HEAD" && reads !== undefined && mayUse(reads, client)) continue;
      const lines = [
        `${verb} ${target} HTTP/1.1`,
        `host: ${server.address}`,
        `authorization: Bearer ${TOKENS[name]}`,
      ];
      lines.push("content-type: application/json", `content-length: ${body.length}`, ...more);
      const status = await raw(server, lines, body);
      expect([verb, target, more, status >= 200 && status < 400]).toEqual([verb, target, more, false]);
    }
  }
  expect(writing.inputs).toEqual([]);
}, 60_000);

test("a cookie of the console beside another credential counts for nothing", async () => {
  const server = await startConsole([new WritingTool().tool], { mcp: {}, ...WITH_EXECUTOR });
  const login = await new TestClient(server, "carol").send("POST", "/v1/console/session", undefined, {
    headers: { "content-type": "application/json", origin: `http://${server.address}` },
    body: JSON.stringify({ token: TOKENS.frank }),
  });
  const cookie = String(login.headers["set-cookie"]).split(";")[0] ?? "";
  const host = `host: ${server.address}`;
  for (const [method, path] of [
    ["GET", "/v1/sessions"],
    ["GET", "/metrics"],
    ["POST", "/v1/pause"],
  ]) {
    const lines = [`${method} ${path} HTTP/1.1`, host, `cookie: ${cookie}`, "content-length: 0"];
    // Of a caller, whose role it would add to.
    expect([path, await raw(server, [...lines, `authorization: Bearer ${TOKENS.alice}`])]).toEqual([
      path,
      403,
    ]);
    expect([path, await raw(server, [...lines, "authorization: Bearer nobody-has-this-token"])]).toEqual([
      path,
      401,
    ]);
    expect([path, await raw(server, [...lines, "authorization: Basic YTpi"])]).toEqual([path, 401]);
    // Two credentials could be of two senders.
    const two = [...lines, `authorization: Bearer ${TOKENS.alice}`, `authorization: Bearer ${TOKENS.frank}`];
    expect(await raw(server, two)).toBeGreaterThanOrEqual(400);
  }
});

test("a caller cannot answer its own confirmation under a name that looks like another one", async () => {
  const names = ["Alice", "alice ", "аlice", "alice\u200b", "ALICE", "ａlice", "alice\u0301"];
  const credentials = [
    { id: "alice", token: TOKENS.alice, roles: ["caller"] as const },
    ...names.map((id, index) => ({
      id,
      token: `token-of-the-look-alike-${index}`,
      roles: ["approver"] as const,
    })),
  ];
  const server = await startServer([new WritingTool().tool], { credentials });
  const alice = new TestClient(server, "alice");
  const session = await alice.open();
  await alice.dispatch(session, [CALL]);
  for (const index of names.keys()) {
    const other = new TestClient(server, { token: `token-of-the-look-alike-${index}` });
    expect(await other.json("GET", "/v1/confirmations")).toEqual({ confirmations: [] });
    expect((await other.send("GET", `/v1/sessions/${session}`)).status).toBe(404);
  }
});

test("the operator learns who sent each refused request, at whatever step it was refused", async () => {
  const refused: RefusedRequest[] = [];
  const server = await startConsole([new WritingTool().tool], {
    mcp: {},
    ...WITH_EXECUTOR,
    onRefusal: (each) => refused.push(each),
  });
  const json = { "content-type": "application/json" };
  for (const name of Object.keys(TOKENS) as ClientName[]) {
    const client = new TestClient(server, name);
    for (const route of Object.keys(ROUTE_ACCESS)) {
      if (/frames|events|pause|policy|DELETE/.test(route)) continue;
      const [method = "", path = ""] = route.split(" ");
      const target = path.replaceAll(/:\w+/g, "unknown");
      await client.send(method, target, method === "GET" ? undefined : { odd: 1 });
      if (method === "GET") continue;
      for (const body of ["{", "", "x".repeat(2_000_000)]) {
        const headers = { ...json, ...client.authorization, "content-length": String(body.length) };
        await client.send(method, target, undefined, { headers, body });
      }
    }
  }
  expect(refused.length).toBeGreaterThan(400);
  const isPublic = ({ method, path }: RefusedRequest): boolean =>
    path === "/v1/console/session" && method === "POST"
      ? true
      : /^\/(?:console|\.well-known|healthz|readyz)/.test(path);
  expect(refused.filter((each) => each.principal === undefined && !isPublic(each))).toEqual([]);
  expect(new Set(refused.map(({ principal }) => principal?.id))).toEqual(
    new Set([...Object.keys(TOKENS), undefined]),
  );
}, 120_000);
