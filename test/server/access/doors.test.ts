import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Role } from "../../../src/http/access.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { signRequest } from "../../../src/remote-protocol/signatures/sign-request.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { ServerOptions } from "../../../src/server/options.ts";
import type { Server } from "../../../src/server/server.ts";
import { dispatchBody, send } from "../../executor/harness.ts";
import { connect, PEERS } from "../../mcp/server/harness.ts";
import { callOn } from "../../sandboxes/remote/executor-client/setting.ts";
import { Browser, startConsole } from "../console/console.ts";
import {
  CREDENTIALS,
  type ListedConfirmation,
  pathOf,
  ROUTE_ACCESS,
  refusalOf,
  startServer,
  TestClient,
  TOKENS,
  WITH_EXECUTOR,
  WritingTool,
} from "../harness.ts";

const CALL = { id: "c1", name: "write_note", arguments: { text: "hi" } };
const TOKEN = "the-token-of-the-executor";
const { publicKey, privateKey } = generateKeyPairSync("ed25519");

/** Sends a request with one credential; returns the status. */
type Sends = (method: string, path: string, body?: unknown) => Promise<number>;

/** Servers with a credential each, and the roles that it has. */
const HOLDERS: Readonly<
  Record<string, { readonly roles: readonly Role[]; readonly open: () => Promise<[Server, Sends]> }>
> = {
  "the token of the executor": {
    roles: ["client"],
    open: () => opened({ executor: true, token: TOKEN }, (server) => bearer(server, TOKEN)),
  },
  "a named token of the executor": {
    roles: ["client"],
    open: () =>
      opened({ executor: true, tokens: [{ id: "alice", token: TOKEN }] }, (server) => bearer(server, TOKEN)),
  },
  "a key of the executor": {
    roles: ["client"],
    open: () => opened({ executor: true, keys: new Map([["signer", publicKey]]) }, signing),
  },
  "the role client": {
    roles: ["client"],
    open: () => opened(WITH_EXECUTOR, (server) => bearer(server, TOKENS.heidi)),
  },
  "no credential, on a unix socket": {
    roles: ["client"],
    open: () => {
      const path = join(mkdtempSync(join(tmpdir(), "sandgate-")), "socket");
      return opened({ executor: true, credentials: [], listen: `unix:${path}` }, (server) =>
        bearer(server, "any"),
      );
    },
  },
  "no credential, on a port of this machine": {
    roles: ["client"],
    open: () => opened({ executor: true, credentials: [] }, (server) => bearer(server, "any")),
  },
  "the key of a caller": {
    roles: ["caller"],
    open: () =>
      opened({ credentials: [...CREDENTIALS, { id: "signer", key: publicKey, roles: ["caller"] }] }, signing),
  },
  "the roles caller and reader": {
    roles: ["caller", "reader"],
    open: () => opened(...withRoles("caller", "reader")),
  },
  "the roles client and reader": {
    roles: ["client", "reader"],
    open: () => opened(...withRoles("client", "reader")),
  },
  "the roles approver and admin": {
    roles: ["approver", "admin"],
    open: () => opened(...withRoles("approver", "admin")),
  },
};

function withRoles(...roles: readonly Role[]): [Partial<ServerOptions>, (server: Server) => Sends] {
  const credentials = [...CREDENTIALS, { id: "both", token: TOKEN, roles }];
  return [{ executor: true, credentials }, (server) => bearer(server, TOKEN)];
}

async function opened(
  options: Partial<ServerOptions>,
  sends: (server: Server) => Sends,
): Promise<[Server, Sends]> {
  const server = await startConsole([new WritingTool().tool], { mcp: {}, ...options });
  return [server, sends(server)];
}

function bearer(server: Server, token: string): Sends {
  return async (method, path, body) =>
    (await new TestClient(server, { token }).send(method, path, body)).status;
}

function signing(server: Server): Sends {
  return async (method, path, given) => {
    const body = given === undefined ? undefined : JSON.stringify(given);
    const message = { method, authority: server.address, path, ...(body !== undefined && { body }) };
    // Clients of the library send GET and POST only.
    const headers = { ...signRequest(message as never, { keyId: "signer", privateKey }) };
    return (await send(server, { method, path, headers, ...(body !== undefined && { body }) })).status;
  };
}

/** Those that need a credential and no session. Without an upgrade, the path of frames does not exist. */
const ROUTES = Object.entries(ROUTE_ACCESS).filter(
  ([route, { roles, session }]) =>
    roles.length > 0 && session === undefined && !/frames|events|:/.test(route),
);

describe("each door opens for the roles of the table and no others", () => {
  test.each(Object.entries(HOLDERS))("with %s", async (_name, { roles, open }) => {
    const [, sends] = await open();
    for (const [route, { roles: accepted, refusesCallers = false }] of ROUTES) {
      const [method = "", path = ""] = route.split(" ");
      const status = await sends(method, path, method === "GET" || method === "DELETE" ? undefined : {});
      const isRefused =
        !accepted.some((role) => roles.includes(role)) || (refusesCallers && roles.includes("caller"));
      expect([route, status === 403]).toEqual([route, isRefused]);
    }
  });

  test("without a credential, if the server has one", async () => {
    for (const options of [{}, { executor: true }]) {
      const server = await startConsole([], { mcp: {}, ...options });
      for (const [route] of ROUTES) {
        const [method = "", path = ""] = route.split(" ");
        const headers = { "content-type": "application/json", "content-length": "0" };
        expect([route, (await send(server, { method, path, headers })).status]).toEqual([route, 401]);
      }
    }
  });

  test("and none is open without a credential if the server has none but the operator of its console", async () => {
    const server = await startConsole([], { credentials: [] });
    for (const path of ["/v1/tools", "/v1/sessions", "/metrics", "/v1/calls"])
      expect((await send(server, { method: "GET", path })).status).toBe(401);
    const browser = await Browser.operator(server);
    expect((await browser.send("GET", "/v1/calls")).status).toBe(200);
    expect((await browser.send("POST", "/v1/sessions", { body: {} })).status).toBe(403);
  });
});

/** What a credential could do to have a call of alice's run without her approver. */
const DEEDS: Readonly<
  Record<
    string,
    (client: TestClient, at: string, confirmation: ListedConfirmation) => Promise<{ readonly status: number }>
  >
> = {
  "dispatches it": (client) =>
    client.send("POST", "/v1/dispatch", JSON.parse(dispatchBody({ name: "write_note", arguments: {} }))),
  "allows it": (client, _at, confirmation) => client.answer(confirmation, { decision: "allow" }),
  "allows it for the workspace": (client, _at, confirmation) =>
    client.answer(confirmation, { decision: "always", approval: { tools: ["*"], for: "workspace" } }),
  "edits its arguments": (client, _at, confirmation) =>
    client.answer(confirmation, { decision: "allow", arguments: { text: "other" } }),
  "sets a looser mode": (client, at) => client.send("PATCH", at, { mode: "autonomous" }),
  "accepts its changes": (client, at) =>
    client.send("POST", `${at}/changes`, { decision: "accept", digest: "0".repeat(64) }),
  "revokes approvals": (client, at) => client.send("DELETE", `${at}/approvals`),
  "replaces the policy": (client) => client.send("PUT", "/v1/policy", { rules: [] }),
  "has it repeated": (client) => client.send("POST", "/v1/journal/calls/1/repeat", {}),
  "opens a session in a looser mode": (client) => client.send("POST", "/v1/sessions", { mode: "autonomous" }),
  "opens a session in another workspace": (client) => client.send("POST", "/v1/sessions", { workspace: "/" }),
};

describe("a call that waits for an approver", () => {
  /** Approvers and admins have their own rows in the tests of roles. */
  const OTHERS = ["alice", "bob", "mallory", "erin", "heidi"] as const;

  test.each(Object.entries(DEEDS))("does not run because another credential %s", async (what, deed) => {
    const writing = new WritingTool("write_note", { confirm: "always" });
    const server = await startServer([writing.tool], WITH_EXECUTOR);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    await alice.dispatch(session, [CALL]);
    const [confirmation] = (await new TestClient(server, "carol").confirmations()) as readonly [
      ListedConfirmation,
    ];
    for (const name of OTHERS) {
      // A client of the executor runs calls of its own, for which the config says so.
      if (name === "heidi" && what === "dispatches it") continue;
      const { status } = await deed(new TestClient(server, name), `/v1/sessions/${session}`, confirmation);
      expect([name, [403, 404].includes(status)]).toEqual([name, true]);
    }
    expect(writing.inputs).toEqual([]);
    expect(await alice.json("GET", `/v1/sessions/${session}`)).toMatchObject({ mode: "cautious" });
    expect((await alice.send("GET", pathOf(confirmation))).status).toBe(200);
    expect(await new TestClient(server, "carol").confirmations()).toHaveLength(1);
  });

  test.each(PEERS)("does not run because its own client shows forms and fills them in (%s)", async (peer) => {
    const writing = new WritingTool("write_note", { confirm: "always" });
    let forms = 0;
    const person = () => {
      forms++;
      return { action: "accept", content: { decision: "allow" } };
    };
    const server = await startServer([writing.tool], { mcp: {} });
    const client = await connect(server, peer, { person });
    expect(await client.callTool({ name: "write_note", arguments: { text: "x" } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("no approver is available") }],
    });
    expect([forms, writing.inputs]).toEqual([0, []]);
  });

  test.each([
    false,
    true,
  ])("is not run by a caller that dispatches it to the executor (framed: %s)", async (frames) => {
    const writing = new WritingTool("write_note", { confirm: "always" });
    for (const executor of [false, true]) {
      const server = await startServer([writing.tool], { executor, frames });
      await using sandboxes = await openSandboxes({ remote: { token: TOKENS.alice, frames } });
      const { error } = await callOn(`http://${server.address}`, "write_note", sandboxes, {
        limits: { wallTimeMs: 3_000 },
      });
      expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    }
    expect(writing.inputs).toEqual([]);
  });
});

describe("beside sessions, without the executor", () => {
  const refused: readonly (readonly [string, Partial<ServerOptions>])[] = [
    ["the option 'token'", { token: TOKEN }],
    ["the option 'tokens'", { tokens: [{ id: "a", token: TOKEN }] }],
    ["the option 'keys'", { keys: new Map([["a", publicKey]]) }],
    ["the option 'certificates'", { certificates: [{ id: "a", certificate: "DNS:a" }] }],
    ["the role 'client'", { credentials: [{ id: "a", token: TOKEN, roles: ["client"] }] }],
    ["a server without credentials", { credentials: [] }],
  ];

  test.each(refused)("%s is refused at the start, with what to write instead", async (what, options) => {
    const start = startServer([], options);
    await expect(start).rejects.toThrow(TypeError);
    await expect(start).rejects.toThrow(new RegExp(`^${what}.*write .*'caller'.* or 'executor: true'`));
  });

  test.each(
    refused.slice(0, -1),
  )("%s is refused by a reload, which replaces nothing", async (_what, options) => {
    const server = await startServer([]);
    const registry = new ToolRegistry();
    expect(() => server.reload({ registry, policy: new HostPolicy(), ...options })).toThrow(TypeError);
    expect(await new TestClient(server, "alice").open()).not.toBe("");
  });

  test("a reload that leaves no credential opens nothing", async () => {
    const server = await startServer([new WritingTool().tool]);
    server.reload({ registry: new ToolRegistry(), policy: new HostPolicy(), credentials: [] });
    const body = dispatchBody({ name: "write_note" });
    const stranger = new TestClient(server, { token: "any" });
    expect(refusalOf(await stranger.send("POST", "/v1/dispatch", JSON.parse(body)))).toBe(
      "401 unauthenticated",
    );
    expect(refusalOf(await stranger.send("POST", "/v1/sessions", {}))).toBe("401 unauthenticated");
  });
});

test("one key has one id, so that its holder cannot choose between two roles", async () => {
  const ann = { id: "ann", key: publicKey, roles: ["approver"], approves: ["agent"] } as const;
  for (const options of [
    { credentials: [{ id: "agent", key: publicKey, roles: ["caller"] }, ann] },
    { executor: true, keys: new Map([["agent", publicKey]]), credentials: [ann] },
  ] as const)
    await expect(startServer([], options)).rejects.toThrow(/has the same key as 'agent'/);
});
