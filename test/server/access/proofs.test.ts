import { generateKeyPairSync } from "node:crypto";
import { request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { Proof, Role, RouteAccess } from "../../../src/http/access.ts";
import { signRequest } from "../../../src/remote-protocol/signatures/sign-request.ts";
import type { Server } from "../../../src/server/server.ts";
import { AuthorizationServer } from "../../access-tokens/authorization-server.ts";
import { Browser, startConsole } from "../console/console.ts";
import { ROUTE_ACCESS, TestClient, TOKENS, WITH_EXECUTOR, WritingTool } from "../harness.ts";
import { first, receivingServer } from "../notifying/receiver.ts";

const RESOURCE = "https://sandgate.example/mcp";
const { publicKey, privateKey } = generateKeyPairSync("ed25519");

type Headers = Readonly<Record<string, string>>;

/** A way to show who sends a request. */
interface Showing {
  /** What it is in the table; `undefined` if it is worth nothing. */
  readonly proof?: Proof;
  /** Of whom it is one. */
  readonly roles?: readonly Role[];
  readonly headers: (method: string, path: string) => Headers;
}

/** What a request shows in each column of the table, and what it cannot show. */
async function showings(): Promise<{ server: Server; kinds: Readonly<Record<string, Showing>> }> {
  const issuer = await AuthorizationServer.start();
  const { origin, received } = await receivingServer();
  const notify = {
    url: origin,
    consoleUrl: "https://console.example",
    links: "answer",
    approver: "carol",
  } as const;
  const server = await startConsole([new WritingTool().tool], {
    ...WITH_EXECUTOR,
    credentials: [...(WITH_EXECUTOR.credentials ?? []), { id: "signer", key: publicKey, roles: ["reader"] }],
    mcp: { oauth: { resource: RESOURCE, issuer: issuer.issuer } },
    sessions: { notify },
  });
  const alice = new TestClient(server, "alice");
  await alice.dispatch(await alice.open(), [{ id: "c1", name: "write_note", arguments: { text: "x" } }]);
  const { confirmations } = JSON.parse((await first(received)).body.toString());
  const link = String(confirmations[0].link).split("/").at(-1) ?? "";
  const operator = await Browser.operator(server);
  const carol = new Browser(server);
  await carol.logIn(TOKENS.carol);
  const accessToken = await issuer.sign({ aud: RESOURCE, client_id: "editor" });
  const bearer = (token: string) => (): Headers => ({ authorization: `Bearer ${token}` });
  const cookie =
    (value = "", site = "same-origin") =>
    (): Headers => ({ cookie: value, "sec-fetch-site": site, origin: `http://${server.address}` });
  const credential = (name: keyof typeof TOKENS, role: Role): Showing => ({
    proof: "credential",
    roles: [role],
    headers: bearer(TOKENS[name]),
  });
  return {
    server,
    kinds: {
      nothing: { proof: "body", headers: () => ({}) },
      "a wrong token": { headers: bearer("a-token-that-is-not-known") },
      "the token of a client": credential("heidi", "client"),
      "the token of a caller": credential("alice", "caller"),
      "the token of an approver": credential("carol", "approver"),
      "the token of a reader": credential("erin", "reader"),
      "the token of an admin": credential("frank", "admin"),
      "a signature": {
        proof: "credential",
        roles: ["reader"],
        headers: (method, path) => ({
          ...signRequest(
            // Clients of the library send GET and POST only.
            { method, path, authority: server.address, ...(method !== "GET" && { body: "{}" }) } as never,
            { keyId: "signer", privateKey },
          ),
        }),
      },
      "a signature of another request": {
        headers: () => ({
          ...signRequest(
            { method: "GET", path: "/v1/other", authority: server.address },
            { keyId: "signer", privateKey },
          ),
        }),
      },
      "an access token": { proof: "access-token", roles: ["caller"], headers: bearer(accessToken) },
      "an access token for another resource": {
        headers: bearer(await issuer.sign({ aud: "https://other.example/mcp", client_id: "editor" })),
      },
      "the cookie of the operator": {
        proof: "cookie",
        roles: ["admin", "approver"],
        headers: cookie(operator.cookie),
      },
      "the cookie of an approver": { proof: "cookie", roles: ["approver"], headers: cookie(carol.cookie) },
      "the cookie in a request of another site": {
        proof: "body",
        headers: cookie(operator.cookie, "cross-site"),
      },
      "a cookie of no login": { proof: "body", headers: cookie(`sandgate_console=${"A".repeat(43)}`) },
      "a one-time token as a bearer token": { headers: bearer(server.issueConsoleToken()) },
      "an answer link as a bearer token": { headers: bearer(link) },
    },
  };
}

/** Sends a request, and returns its status as soon as the response begins: some would last. */
function statusOf(server: Server, method: string, path: string, headers: Headers): Promise<number> {
  const [host, port] = server.address.split(":");
  const body = method === "GET" ? undefined : "{}";
  const length = body === undefined ? {} : { "content-length": "2", "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, method, path, agent: false, headers: { ...length, ...headers } });
    onTestFinished(() => void sent.destroy());
    sent.on("error", reject).on("response", ({ statusCode = 0 }) => {
      resolve(statusCode);
      sent.off("error", reject).on("error", () => {});
      sent.destroy();
    });
    sent.end(body);
  });
}

/** Without an upgrade, the path of frames does not exist. Logging out needs a login, which it would end. */
const ROUTES = Object.entries(ROUTE_ACCESS).filter(
  ([route]) => !/\/v1\/frames|DELETE \/v1\/console\/session/.test(route),
);

function isAuthenticated({ proofs }: RouteAccess, proof: Proof | undefined): boolean {
  return proofs.length === 0 || (proof !== undefined && proofs.includes(proof));
}

test("each route accepts the proofs of the table, and no others", async () => {
  const { server, kinds } = await showings();
  for (const [route, access] of ROUTES) {
    const [method = "", template = ""] = route.split(" ");
    const path = template.replaceAll(/:\w+/g, "unknown");
    const expected: [string, boolean][] = [];
    const found: [string, boolean][] = [];
    for (const [kind, { proof, headers }] of Object.entries(kinds)) {
      // This stops the server for those that come later, and changes what they may do.
      if (/v1\/(pause|policy)$/.test(path) && proof !== undefined && isAuthenticated(access, proof)) continue;
      expected.push([kind, isAuthenticated(access, proof)]);
      const status = await statusOf(server, method, path, headers(method, path));
      // Routes that browsers do not use refuse the origin of every page, and a signature is altered.
      const refusals = [401, 421, ...(proof === undefined ? [422] : [])];
      found.push([kind, !refusals.includes(status)]);
    }
    expect([route, found]).toEqual([route, expected]);
  }
});

test("a proof opens the routes for the roles of whom it is one", async () => {
  const { server, kinds } = await showings();
  // Sessions of others, and what does not exist, are not found before roles are asked about.
  const open = ROUTES.filter(
    ([route, { session, roles }]) => roles.length > 0 && !session && !/:/.test(route),
  );
  for (const [route, access] of open) {
    const [method = "", path = ""] = route.split(" ");
    for (const [kind, { proof, roles = [], headers }] of Object.entries(kinds)) {
      if (roles.length === 0 || !isAuthenticated(access, proof) || /pause|resume/.test(path)) continue;
      const mayUse =
        access.roles.some((role) => roles.includes(role)) &&
        !(access.refusesCallers === true && roles.includes("caller"));
      const status = await statusOf(server, method, path, headers(method, path));
      expect([route, kind, status !== 403]).toEqual([route, kind, mayUse]);
    }
  }
});

test("a one-time token and an answer link count in the body of their own route only", async () => {
  const { server } = await showings();
  const browser = new Browser(server);
  const token = server.issueConsoleToken();
  const link = await browser.send("POST", "/v1/console/answer-link", { body: { token } });
  expect(link.status).toBe(410);
  expect((await browser.send("POST", "/v1/journal/policy-diff", { body: { token } })).status).toBe(401);
  expect((await browser.logIn(token)).status).toBe(204);
  browser.cookie = undefined;
  expect((await browser.logIn(token)).status).toBe(401);
});

test("what is fixed in a path is written as it is, and what is a parameter may be encoded", async () => {
  const server = await startConsole([new WritingTool().tool]);
  const alice = new TestClient(server, "alice");
  const session = await alice.open();
  const encoded = `%${session.charCodeAt(0).toString(16)}${session.slice(1)}`;
  for (const [path, status] of [
    [`/v1/sessions/${session}/definitions`, 200],
    [`/v1/sessions/${encoded}/definitions`, 200],
    [`/v1/sessions/${session}/definition%73`, 404],
    [`/v1/session%73/${session}/definitions`, 404],
    [`/v1/%73essions/${session}`, 404],
    [`/%761/sessions/${session}`, 404],
    ["/v1/console%2fsession", 404],
    ["/health%7a", 404],
  ] as const)
    expect([path, (await alice.send("GET", path)).status]).toEqual([path, status]);
});
