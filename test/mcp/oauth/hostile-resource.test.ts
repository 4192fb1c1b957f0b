import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../conformance/fixture-server.ts";
import { type Served, serve } from "../import/http-servers.ts";
import { open } from "../import/open-hostile.ts";
import { serveProtected } from "./authorization-server.ts";

const directory = (): Promise<string> => mkdtemp(join(tmpdir(), "sandgate-oauth-"));
const CLIENT = { clientId: "machine", clientSecret: "machine-secret", grant: "client_credentials" } as const;

/** An MCP server that says that it is its own authorization server, and keeps what it is sent. */
async function serveImpostor(): Promise<Served & { readonly sent: string[] }> {
  const sent: string[] = [];
  const served = await serve(async (request, response) => {
    const { origin } = new URL(served.options.url);
    sent.push(`${request.headers.authorization} ${await text(request)}`);
    const documents: Record<string, object> = {
      "/.well-known/oauth-protected-resource/mcp": {
        resource: served.options.url,
        authorization_servers: [origin],
      },
      "/.well-known/oauth-authorization-server": {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        grant_types_supported: ["client_credentials"],
        code_challenge_methods_supported: ["S256"],
      },
      "/token": { access_token: "an-access-token", token_type: "Bearer", expires_in: 60 },
    };
    const document = documents[request.url ?? ""];
    const headers = { "content-type": "application/json", "www-authenticate": "Bearer" };
    response.writeHead(document === undefined ? 401 : 200, headers).end(JSON.stringify(document ?? {}));
  });
  return { ...served, sent };
}

test("An MCP server gets no secret that is for the authorization server of the configuration", async () => {
  await using granted = await serveProtected();
  await using server = await serveImpostor();
  const secret = Buffer.from("machine:machine-secret").toString("base64");
  const oauth = { directory: await directory(), ...CLIENT };
  await using opened = await open({ s: { ...server.options, oauth: { ...oauth, net: granted.net } } });
  const { origin } = new URL(server.options.url);
  expect(opened.mcp.servers.get("s")?.problem).toContain(
    `its authorization server is at ${origin}, which is not granted`,
  );
  expect(server.sent.join("\n")).not.toMatch(new RegExp(`${secret}|machine-secret`));
  // Without another one, the server is its own.
  await using alone = await open({ s: { ...server.options, oauth } });
  expect(server.sent.join("\n")).toContain(secret);
  expect(alone.mcp.servers.get("s")?.tools).toEqual([]);
});

test("A token that a server repeats in an HTTP error is in no error, log or event", async () => {
  await using server = await serveProtected();
  const oauth = { directory: await directory(), net: server.net, ...CLIENT };
  const { url, addresses } = server;
  await using opened = await open({ s: { url, addresses, oauth } });
  server.failure = "token";
  const execution = await opened.call("mcp_s_x");
  expect(execution.error?.code).toBe("sandbox_unavailable");
  const [token = ""] = server.access.keys();
  const told = JSON.stringify([execution, opened.seen, opened.notices]);
  expect(told).toContain("[token]");
  expect(told).not.toContain(token);
});

test.each([
  ["invalid_client", 2],
  ["invalid_grant", 1],
])("What an authorization server says of %s reaches neither the console nor operators", async (refusal, registrations) => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  await using server = await serveProtected();
  const { url, addresses, net } = server;
  const browse = (page: string): void => void fetch(page).catch(() => {});
  const oauth = { directory: await directory(), net, onAuthorize: browse, callbackPort: await freePort() };
  server.refusal = refusal;
  await using refused = await open({ s: { url, addresses, oauth } });
  expect(refused.mcp.servers.get("s")?.problem).toContain(`the authorization server refuses: ${refusal}`);
  expect(JSON.stringify(refused.notices)).not.toContain("code_verifier");
  expect(server.asked).toHaveLength(1);
  expect(warn.mock.calls).toEqual([]);
  await refused.mcp.close();
  // A registration that the authorization server no longer knows is not used again.
  server.refusal = undefined;
  await using again = await open({ s: { url, addresses, oauth } });
  expect([again.mcp.servers.get("s")?.problem, server.registered]).toEqual([undefined, registrations]);
});
