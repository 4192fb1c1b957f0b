import { describe, expect, test } from "vitest";
import { ToolRegistry } from "../../../../src/engine/registry.ts";
import { HostPolicy } from "../../../../src/policy/policy.ts";
import { send } from "../../../executor/harness.ts";
import { CREDENTIALS, EventReader, refusalOf, TestClient, TOKENS } from "../../harness.ts";
import { Browser, startConsole } from "../console.ts";

const PATH = "/v1/console/session";

describe("logging in to the console", () => {
  test("works once with a one-time token", async () => {
    const server = await startConsole();
    const token = server.issueConsoleToken();
    const browser = new Browser(server);
    const answer = await browser.logIn(token);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(
        /^sandgate_console=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
      ),
    ]);
    expect(await browser.json(PATH)).toEqual({
      principal: { id: "olga" },
      roles: ["admin", "approver"],
      server: {
        version: expect.any(String),
        startedAt: expect.any(Number),
        tools: 0,
        paused: false,
        journal: false,
      },
    });
    expect(refusalOf(await new Browser(server).logIn(token))).toBe("401 unauthenticated");
  });

  test("works with the token of a credential that is not a caller's", async () => {
    const server = await startConsole();
    const browser = new Browser(server);
    expect((await browser.logIn(TOKENS.erin)).status).toBe(204);
    expect(await browser.json(PATH)).toMatchObject({ principal: { id: "erin" }, roles: ["reader"] });
    expect(refusalOf(await new Browser(server).logIn(TOKENS.alice))).toBe("403 forbidden");
  });

  test("makes the cookie one for encrypted connections if the page came over one", async () => {
    const server = await startConsole([], { hosts: ["console.example.com"] });
    const headers = { host: "console.example.com", origin: "https://console.example.com" };
    const answer = await new Browser(server).logIn(TOKENS.erin, headers);
    expect(answer.headers["set-cookie"]).toEqual([expect.stringMatching(/; Secure$/)]);
  });

  test("fails without an origin, and with another one", async () => {
    const server = await startConsole([], { origins: ["https://listed.example"] });
    const logIn = async (origin: string | undefined): Promise<string> => {
      const headers = { ...(origin !== undefined && { origin }), "content-type": "application/json" };
      const body = JSON.stringify({ token: TOKENS.erin });
      const length = { "content-length": String(body.length) };
      return refusalOf(await send(server, { path: PATH, headers: { ...headers, ...length }, body }));
    };
    expect(await logIn(undefined)).toBe("403 forbidden");
    expect(await logIn("https://listed.example")).toBe("403 forbidden");
    for (const origin of [
      "https://evil.example",
      "null",
      "http://127.0.0.1:1",
      `http://${server.address}.evil`,
    ])
      expect(await logIn(origin)).toBe("421 misdirected");
  });

  test("is refused after many wrong tokens, whatever comes then", async () => {
    const server = await startConsole();
    const browser = new Browser(server);
    for (let tries = 0; tries < 20; tries++)
      expect(refusalOf(await browser.logIn(`wrong-token-number-${tries}`))).toBe("401 unauthenticated");
    expect(refusalOf(await browser.logIn(TOKENS.erin))).toBe("429 overloaded");
    expect((await new TestClient(server, "erin").send("GET", PATH)).status).toBe(200);
  });

  test.each([
    ["a huge token", { token: "x".repeat(100_000) }, "413 too_large"],
    ["a token that is too long", { token: "x".repeat(5_000) }, "400 bad_request"],
    ["no token", {}, "400 bad_request"],
    ["something else", { token: { $ne: null } }, "400 bad_request"],
  ])("fails with %s", async (_, body, refusal) => {
    const server = await startConsole();
    expect(refusalOf(await new Browser(server).send("POST", PATH, { body }))).toBe(refusal);
  });

  test("ends the oldest logins of a credential if there are many", async () => {
    const server = await startConsole();
    const other = await Browser.operator(server);
    const first = new Browser(server);
    await first.logIn(TOKENS.erin);
    const last = new Browser(server);
    for (let count = 0; count < 40; count++) expect((await last.logIn(TOKENS.erin)).status).toBe(204);
    expect(refusalOf(await first.send("GET", PATH))).toBe("401 unauthenticated");
    expect((await last.send("GET", PATH)).status).toBe(200);
    expect((await other.send("GET", PATH)).status).toBe(200);
  });
});

describe("the cookie of the console", () => {
  test("does what its credential may do, and no more", async () => {
    const server = await startConsole();
    const session = await new TestClient(server, "alice").open();
    const browser = new Browser(server);
    await browser.logIn(TOKENS.erin);
    expect((await browser.send("GET", `/v1/sessions/${session}`)).status).toBe(200);
    expect(
      refusalOf(await browser.send("PATCH", `/v1/sessions/${session}`, { body: { mode: "plan" } })),
    ).toBe("403 forbidden");
    expect(refusalOf(await browser.send("POST", "/v1/dispatch", { body: {} }))).toBe("421 misdirected");
  });

  test("does not count for requests that another page causes", async () => {
    const server = await startConsole([], { origins: ["https://listed.example"] });
    const browser = await Browser.operator(server);
    const refusal = async (method: string, headers: Record<string, string | undefined>): Promise<string> =>
      refusalOf(await browser.send(method, method === "GET" ? PATH : "/v1/pause", { headers }));
    expect(await refusal("GET", { "sec-fetch-site": "same-site" })).toBe("401 unauthenticated");
    expect(await refusal("GET", { "sec-fetch-site": "cross-site" })).toBe("401 unauthenticated");
    expect(await refusal("GET", { origin: "https://listed.example" })).toBe("401 unauthenticated");
    expect(await refusal("GET", { origin: "https://evil.example" })).toBe("421 misdirected");
    expect(await refusal("POST", { origin: undefined, "sec-fetch-site": undefined })).toBe(
      "401 unauthenticated",
    );
    expect(await refusal("POST", { origin: undefined, "sec-fetch-site": "none" })).toBe(
      "401 unauthenticated",
    );
    expect(await refusal("POST", { "sec-fetch-site": "cross-site" })).toBe("401 unauthenticated");
    expect(await refusal("POST", { origin: "https://listed.example" })).toBe("401 unauthenticated");
    expect(await refusal("POST", { origin: "http://127.0.0.1:1" })).toBe("421 misdirected");
    expect(await browser.json(PATH)).toMatchObject({ server: { paused: false } });
    const bySite = await browser.send("POST", "/v1/pause", { headers: { origin: undefined } });
    expect(bySite.status).toBe(200);
  });

  test("does not count on another name of the server", async () => {
    const server = await startConsole();
    const browser = await Browser.operator(server);
    const host = server.address.replace("127.0.0.1", "localhost");
    const headers = { host, origin: `http://${host}` };
    expect(refusalOf(await browser.send("POST", "/v1/pause", { headers }))).toBe("401 unauthenticated");
  });

  test("ends at logout, with its streams", async () => {
    const server = await startConsole();
    const session = await new TestClient(server, "alice").open();
    const browser = await Browser.operator(server);
    const headers = { cookie: browser.cookie ?? "", accept: "text/event-stream" };
    const stream = new EventReader(server.address, `/v1/sessions/${session}/events`, { headers });
    expect(await stream.opened).toBe(200);
    const out = await browser.send("DELETE", PATH);
    expect([out.status, out.headers["set-cookie"]]).toEqual([
      204,
      ["sandgate_console=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"],
    ]);
    await stream.ended;
    expect(refusalOf(await browser.send("GET", PATH))).toBe("401 unauthenticated");
    expect(refusalOf(await browser.send("DELETE", PATH))).toBe("401 unauthenticated");
  });

  test("ends when a reload revokes its credential; that of the operator does not", async () => {
    const server = await startConsole();
    const [erin, operator] = [new Browser(server), await Browser.operator(server)];
    await erin.logIn(TOKENS.erin);
    const next = { registry: new ToolRegistry(), policy: new HostPolicy() };
    server.reload({ ...next, credentials: CREDENTIALS.filter(({ id }) => id !== "frank") });
    expect((await erin.send("GET", PATH)).status).toBe(200);
    server.reload({ ...next, credentials: CREDENTIALS.filter(({ id }) => id !== "erin") });
    expect(refusalOf(await erin.send("GET", PATH))).toBe("401 unauthenticated");
    expect((await operator.send("GET", PATH)).status).toBe(200);
    server.reload({ ...next, credentials: CREDENTIALS });
    expect(refusalOf(await erin.send("GET", PATH))).toBe("401 unauthenticated");
  });

  test("does not replace a wrong bearer token", async () => {
    const server = await startConsole();
    const browser = await Browser.operator(server);
    const headers = { authorization: "Bearer wrong-token-of-this-client" };
    expect(refusalOf(await browser.send("GET", PATH, { headers }))).toBe("401 unauthenticated");
  });

  test("is not accepted if it is forged", async () => {
    const server = await startConsole([], { credentials: [] });
    const browser = new Browser(server);
    for (const cookie of [
      `sandgate_console=${"A".repeat(43)}`,
      `x=1; sandgate_console=${"_".repeat(43)}; y=2`,
    ]) {
      browser.cookie = cookie;
      expect(refusalOf(await browser.send("GET", PATH))).toBe("401 unauthenticated");
    }
  });

  test("is not needed by clients with credentials; callers are refused", async () => {
    const server = await startConsole();
    expect((await new TestClient(server, "carol").send("GET", PATH)).status).toBe(200);
    expect(refusalOf(await new TestClient(server, "alice").send("GET", PATH))).toBe("403 forbidden");
    const open = await startConsole([], { credentials: [] });
    expect(refusalOf(await new Browser(open).send("GET", PATH))).toBe("401 unauthenticated");
    expect((await (await Browser.operator(open)).send("GET", PATH)).status).toBe(200);
  });
});
