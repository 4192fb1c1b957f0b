import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { signRequest } from "../../../src/remote-protocol/signatures/sign-request.ts";
import { planTools } from "../../../src/toolsets/toolsets.ts";
import { dispatchBody, send } from "../../executor/harness.ts";
import {
  type ClientName,
  CREDENTIALS,
  type ListedConfirmation,
  pathOf,
  refusalOf,
  startServer,
  TestClient,
  TOKENS,
  WITH_EXECUTOR,
  WritingTool,
} from "../harness.ts";

const CALL = { id: "c1", name: "write_note", arguments: { text: "hi" } };

describe("who may do what", () => {
  test("each role may do exactly what it is for, in a session of alice", async () => {
    const server = await startServer([new WritingTool().tool], WITH_EXECUTOR);
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const { turnId } = await alice.dispatch(session, [CALL]);
    const [confirmation] = await new TestClient(server, "carol").confirmations();
    if (confirmation === undefined) throw new Error("no confirmation");
    const at = `/v1/sessions/${session}`;
    const requests: readonly (readonly [string, string, unknown?])[] = [
      ["POST", "/v1/sessions", {}],
      ["GET", `${at}/definitions`],
      ["GET", `${at}/turns/${turnId}`],
      ["GET", `${at}/approvals`],
      ["GET", pathOf(confirmation)],
      ["GET", "/v1/confirmations"],
      ["PATCH", at, { mode: "manual" }],
      ["DELETE", `${at}/approvals`],
      ["POST", `${at}/turns`, { calls: [] }],
      ["POST", `${at}/turns/unknown/cancel`, {}],
    ];
    const rows: Record<string, readonly number[]> = {};
    for (const name of Object.keys(TOKENS) as ClientName[]) {
      const client = new TestClient(server, name);
      const statuses: number[] = [];
      for (const [method, path, body] of requests)
        statuses.push((await client.send(method, path, body)).status);
      rows[name] = statuses;
    }
    const reads = [200, 202, 200, 200];
    expect(rows).toEqual({
      alice: [201, ...reads, 403, 403, 403, 202, 404],
      bob: [201, 404, 404, 404, 404, 403, 404, 404, 404, 404],
      carol: [403, ...reads, 200, 200, 200, 403, 403],
      dave: [403, ...reads, 200, 200, 200, 403, 403],
      erin: [403, ...reads, 200, 403, 403, 403, 403],
      frank: [403, ...reads, 200, 403, 403, 403, 403],
      mallory: [403, 404, 404, 404, 404, 200, 404, 404, 404, 404],
      heidi: [403, 404, 404, 404, 404, 403, 404, 404, 404, 404],
    });
  });

  test("an approver lists the confirmations that it may answer, and no others", async () => {
    const server = await startServer([new WritingTool().tool]);
    for (const name of ["alice", "bob"] as const) {
      const client = new TestClient(server, name);
      await client.dispatch(await client.open(), [CALL]);
    }
    expect(await new TestClient(server, "dave").confirmations(2)).toHaveLength(2);
    expect(await new TestClient(server, "carol").confirmations()).toMatchObject([{ principal: "alice" }]);
    expect(await new TestClient(server, "mallory").json("GET", "/v1/confirmations")).toEqual({
      confirmations: [],
    });
  });

  test("only clients of the executor dispatch calls over the remote protocol", async () => {
    const writing = new WritingTool();
    const server = await startServer([writing.tool], WITH_EXECUTOR);
    const body = dispatchBody({ name: "write_note" });
    const headers = { "content-type": "application/json", "content-length": String(body.length) };
    for (const [name, status] of [
      ["heidi", 200],
      ["alice", 403],
      ["carol", 403],
      ["erin", 403],
      ["frank", 403],
    ] as const) {
      const client = new TestClient(server, name);
      const { authorization } = client;
      expect(
        (
          await client.send("POST", "/v1/dispatch", undefined, {
            headers: { ...headers, ...authorization },
            body,
          })
        ).status,
      ).toBe(status);
    }
    expect(writing.inputs).toHaveLength(1);
  });

  test("an approver with a key signs its answers, which cannot be altered or replayed", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const server = await startServer([new WritingTool().tool], {
      credentials: [
        ...CREDENTIALS,
        { id: "grace", key: publicKey, roles: ["approver"], approves: ["alice"] },
      ],
    });
    const alice = new TestClient(server, "alice");
    await alice.dispatch(await alice.open(), [CALL]);
    const [confirmation] = await new TestClient(server, "carol").confirmations();
    if (confirmation === undefined) throw new Error("no confirmation");
    const path = pathOf(confirmation);
    const body = JSON.stringify({ decision: "deny", digest: confirmation.digest });
    const headers = {
      ...signRequest(
        { method: "POST", authority: server.address, path, body },
        { keyId: "grace", privateKey },
      ),
    };
    const altered = body.replace('"deny"', '"allow"');
    expect(refusalOf(await send(server, { path, body: altered, headers }))).toBe("422 altered");
    expect(refusalOf(await send(server, { path, body, headers }))).toBe("425 replayed");
    const fresh = {
      ...signRequest(
        { method: "POST", authority: server.address, path, body },
        { keyId: "grace", privateKey },
      ),
    };
    expect(JSON.parse((await send(server, { path, body, headers: fresh })).text)).toMatchObject({
      by: "grace",
    });
  });

  test("a client without credentials is 401 everywhere, even where nothing is", async () => {
    const server = await startServer([]);
    const stranger = new TestClient(server, { token: "a-token-that-is-not-known" });
    for (const path of ["/v1/sessions/x/events", "/v1/confirmations", "/v1/sessions/x/nothing"]) {
      expect(refusalOf(await stranger.send("GET", path))).toBe("401 unauthenticated");
    }
    expect(refusalOf(await new TestClient(server, "alice").send("GET", "/v1/sessions/x/nothing"))).toBe(
      "404 not_found",
    );
  });

  test("a session of one principal is 404 for another, with the bytes of what does not exist", async () => {
    const server = await startServer([new WritingTool().tool]);
    const session = await new TestClient(server, "alice").open();
    const bob = new TestClient(server, "bob");
    for (const [method, rest, body] of [
      ["GET", "/definitions"],
      ["GET", "/events"],
      ["POST", "/turns", { calls: [CALL] }],
      ["DELETE", ""],
    ] as const) {
      const of = (id: string) => bob.send(method, `/v1/sessions/${id}${rest}`, body);
      const [theirs, nothing] = [await of(session), await of("01JUNKNOWN")];
      expect([theirs.status, theirs.text]).toEqual([404, nothing.text]);
    }
  });
});

describe("a caller cannot switch asking off", () => {
  test("a caller opens sessions in a mode at least as strict as the server's, and an approver sets a looser one", async () => {
    const writing = new WritingTool();
    const server = await startServer([writing.tool]);
    const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
    expect(refusalOf(await alice.send("POST", "/v1/sessions", { mode: "autonomous" }))).toBe("403 forbidden");
    await alice.open({ mode: "manual" });
    const session = await alice.open({ mode: "cautious" });
    expect(refusalOf(await alice.send("PATCH", `/v1/sessions/${session}`, { mode: "autonomous" }))).toBe(
      "403 forbidden",
    );
    expect(await carol.json("PATCH", `/v1/sessions/${session}`, { mode: "autonomous" })).toMatchObject({
      mode: "autonomous",
    });
    const { turnId } = await alice.dispatch(session, [CALL]);
    expect(await alice.executions(session, turnId)).toMatchObject([{ success: true }]);
  });

  test("a mode that a caller defines is held to the server's, and a mode that does not exist is refused", async () => {
    const modes = { reading: { base: "plan", tools: { note: "deny" } } } as const;
    const server = await startServer([], { sessions: { confirmations: { modes } } });
    const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
    for (const mode of [
      "manual",
      "plan",
      "review",
      "audit",
      "reading",
      { base: "review", tools: { a: "deny" } },
    ])
      await alice.open({ mode });
    for (const mode of [{ base: "autonomous" }, { base: "cautious", tools: { write: "auto" } }])
      expect(refusalOf(await alice.send("POST", "/v1/sessions", { mode }))).toBe("403 forbidden");
    const unknown = ["unknown", { base: "unknown" }, { base: "plan", more: 1 }, { tools: {} }, 7];
    for (const mode of unknown)
      expect(refusalOf(await alice.send("POST", "/v1/sessions", { mode }))).toBe("400 bad_request");
    const session = await alice.open();
    for (const mode of unknown)
      expect(refusalOf(await carol.send("PATCH", `/v1/sessions/${session}`, { mode }))).toBe(
        "400 bad_request",
      );
    const loose = { base: "autonomous", tools: { write: "prompt" } };
    expect(await carol.json("PATCH", `/v1/sessions/${session}`, { mode: loose })).toEqual({
      id: session,
      mode: loose,
    });
  });

  test("clients of a session are told of its mode, and of who changed it", async () => {
    const server = await startServer([...planTools()]);
    const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
    const session = await alice.open();
    const events = alice.events(`/v1/sessions/${session}/events`);
    expect(await events.opened).toBe(200);
    await carol.json("PATCH", `/v1/sessions/${session}`, { mode: "plan" });
    await alice.dispatch(session, [{ id: "c1", name: "submit_plan", arguments: { plan: "Look." } }]);
    const [confirmation] = (await carol.confirmations()) as readonly [ListedConfirmation];
    expect(confirmation).toMatchObject({ kind: "plan", choices: ["allow", "deny"] });
    if (confirmation !== undefined) await carol.answer(confirmation, { decision: "allow" });
    await events.next("tool.completed");
    const changes = events.received.filter(({ type }) => type === "session.mode_changed");
    const change = { sessionId: session, mode: "plan", by: "carol", at: expect.any(Number) };
    expect(changes).toMatchObject([
      { ...change, isPlanApproved: false },
      { ...change, isPlanApproved: true },
    ]);
  });

  test("a caller chooses workspaces below those of the server only, regardless of links and similar names", async () => {
    const root = mkdtempSync(join(tmpdir(), "sandgate-"));
    const inside = join(root, "code");
    for (const folder of [join(inside, "project"), `${inside}-evil`]) mkdirSync(folder, { recursive: true });
    symlinkSync(`${inside}-evil`, join(inside, "link"));
    const server = await startServer([], { sessions: { workspaces: [inside] } });
    const alice = new TestClient(server, "alice");
    await alice.open({ workspace: inside });
    await alice.open({ workspace: join(inside, "project") });
    for (const workspace of [
      root,
      `${inside}-evil`,
      join(inside, "link"),
      join(inside, "..", "code-evil"),
      "/nowhere",
    ]) {
      expect(refusalOf(await alice.send("POST", "/v1/sessions", { workspace }))).toBe("403 forbidden");
    }
    const none = await startServer([]);
    expect(
      refusalOf(await new TestClient(none, "alice").send("POST", "/v1/sessions", { workspace: inside })),
    ).toBe("403 forbidden");
  });

  test("in a trusted workspace, a writing tool runs, and an executing one still asks", async () => {
    const root = mkdtempSync(join(tmpdir(), "sandgate-"));
    const writing = new WritingTool();
    const executing = new WritingTool("run", { sideEffects: "execute" });
    const server = await startServer([writing.tool, executing.tool], {
      sessions: {
        workspaces: [root],
        confirmations: { trustedWorkspaces: [root], trustedWorkspaceOverrides: { execute: "prompt" } },
      },
    });
    const [alice, carol] = [new TestClient(server, "alice"), new TestClient(server, "carol")];
    const session = await alice.open({ workspace: root });
    await alice.dispatch(session, [CALL, { ...CALL, id: "c2", name: "run" }]);
    expect(await carol.confirmations()).toMatchObject([{ toolName: "run" }]);
    expect([writing.inputs, executing.inputs]).toEqual([[{ text: "hi" }], []]);
  });
});

describe("the order of checks", () => {
  test("is 401, 404, 403, 413, 415 and 400", async () => {
    const server = await startServer([new WritingTool().tool], { limits: { bodyBytes: 1_000 } });
    const alice = new TestClient(server, "alice");
    const session = await alice.open();
    const huge = { calls: [{ ...CALL, arguments: "x".repeat(2_000) }] };
    const at = `/v1/sessions/${session}/turns`;
    const stranger = new TestClient(server, { token: "a-token-that-is-not-known" });
    const text = { headers: { "content-type": "text/plain" } };
    expect([
      refusalOf(await stranger.send("POST", at, huge)),
      refusalOf(await new TestClient(server, "bob").send("POST", at, huge)),
      refusalOf(await new TestClient(server, "carol").send("POST", at, huge)),
      refusalOf(await alice.send("POST", at, huge)),
      refusalOf(await alice.send("POST", at, { nothing: 1 }, text)),
      refusalOf(await alice.send("POST", at, { nothing: 1 })),
    ]).toEqual([
      "401 unauthenticated",
      "404 not_found",
      "403 forbidden",
      "413 too_large",
      "415 unsupported_media_type",
      "400 bad_request",
    ]);
  });
});

test("a method that no route has is 404, and 401 without credentials", async () => {
  const server = await startServer([]);
  const alice = new TestClient(server, "alice");
  const stranger = new TestClient(server, { token: "a-token-that-is-not-known" });
  for (const method of ["TRACE", "PUT", "OPTIONS", "PROPFIND", "QUERY"]) {
    for (const path of ["/v1/sessions", "/v1/confirmations"]) {
      expect(refusalOf(await alice.send(method, path))).toBe("404 not_found");
      expect(refusalOf(await stranger.send(method, path))).toBe("401 unauthenticated");
    }
  }
});

describe("credentials that are refused", () => {
  test("a server does not start with credentials that contradict themselves", async () => {
    const { publicKey: key } = generateKeyPairSync("ed25519");
    const token = "0123456789abcdef";
    const refused = [
      [{ id: "a", token, roles: ["caller", "approver"] }],
      [{ id: "a", token, roles: [] }],
      [{ id: "oauth:alice", token, roles: ["caller"] }],
      [{ id: "a", roles: ["caller"] }],
      [{ id: "a", token, key, roles: ["caller"] }],
      [{ id: "a", token: "short", roles: ["caller"] }],
      [{ id: "a", token, roles: ["caller"], approves: ["*"] }],
      [
        { id: "a", key, roles: ["caller"] },
        { id: "a", key, roles: ["reader"] },
      ],
      [
        { id: "a", token, roles: ["caller"] },
        { id: "b", token, roles: ["approver"] },
      ],
    ] as const;
    for (const credentials of refused) {
      await expect(startServer([], { credentials: credentials as never })).rejects.toThrow(TypeError);
    }
  });
});

describe("browsers", () => {
  test("a page may use the server only if its origin is listed", async () => {
    const page = "https://console.example.com";
    const server = await startServer([], { origins: [page] });
    const carol = new TestClient(server, "carol");
    const from = (origin: string, method = "GET") =>
      carol.send(method, "/v1/confirmations", undefined, { headers: { ...carol.authorization, origin } });
    expect((await from(page)).headers["access-control-allow-origin"]).toBe(page);
    const preflight = await send(server, {
      method: "OPTIONS",
      path: "/v1/confirmations",
      headers: { origin: page },
    });
    expect([preflight.status, preflight.headers["access-control-allow-headers"]]).toMatchObject([
      204,
      expect.stringContaining("authorization"),
    ]);
    for (const origin of ["https://evil.example.com", "null", `${page}.evil.com`]) {
      const refused = await from(origin);
      expect([refusalOf(refused), refused.headers["access-control-allow-origin"]]).toEqual([
        "421 misdirected",
        undefined,
      ]);
    }
    const strict = await startServer([]);
    const other = new TestClient(strict, "carol");
    const headers = { ...other.authorization, origin: page };
    expect(refusalOf(await other.send("GET", "/v1/confirmations", undefined, { headers }))).toBe(
      "421 misdirected",
    );
  });
});
