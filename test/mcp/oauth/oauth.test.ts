import { mkdtemp, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { OAuthOptions } from "../../../src/mcp/oauth/oauth-options.ts";
import { type OpenedMcp, open } from "../import/open-hostile.ts";
import { type Protected, serveProtected } from "./authorization-server.ts";

const directory = (): Promise<string> => mkdtemp(join(tmpdir(), "sandgate-oauth-"));

/** A browser that follows redirects at once. */
const browse = (page: string): void => void fetch(page).catch(() => {});

/** Imports the tools of the server, with a person who gives access unless it is said otherwise. */
async function openProtected(
  { url, addresses, net }: Protected,
  oauth: Partial<OAuthOptions> & { readonly directory: string },
): Promise<OpenedMcp> {
  return await open({ s: { url, addresses, oauth: { net, onAuthorize: browse, ...oauth } } });
}

const problemOf = ({ mcp }: OpenedMcp): string | undefined => mcp.servers.get("s")?.problem;

describe("A server that wants OAuth", () => {
  test("is used after a login, whose tokens other imports find, in a file that only its owner reads", async () => {
    await using server = await serveProtected();
    const home = join(await directory(), "tokens");
    {
      await using opened = await openProtected(server, { directory: home });
      expect((await opened.call("mcp_s_x")).success).toBe(true);
    }
    const [file = ""] = await readdir(home);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect((await stat(join(home, file))).mode & 0o777).toBe(0o600);
    const kept = JSON.parse(await readFile(join(home, file), "utf8"));
    expect(kept).toMatchObject({ resource: server.url, tokens: { issuer: server.issuer } });
    const { url, addresses, net } = server;
    await using again = await open({ s: { url, addresses, oauth: { directory: home, net } } });
    expect((await again.call("mcp_s_x")).success).toBe(true);
    expect([server.registered, server.asked.length]).toEqual([1, 1]);
    expect(server.asked[0]?.get("resource")).toBe(server.url);
  });

  test("fails without a login, and says how to log in; nothing is registered", async () => {
    await using server = await serveProtected();
    const { url, addresses, net } = server;
    await using opened = await open({ s: { url, addresses, oauth: { directory: await directory(), net } } });
    expect(problemOf(opened)).toContain("run 'sandgate mcp login s --config FILE'");
    expect([server.registered, server.asked.length]).toEqual([0, 0]);
  });

  test("has its tokens refreshed once, however many calls wait, and calls fail when that is refused", async () => {
    await using server = await serveProtected();
    const home = await directory();
    await (await openProtected(server, { directory: home }))[Symbol.asyncDispose]();
    const { url, addresses, net } = server;
    await using opened = await open({ s: { url, addresses, oauth: { directory: home, net } } });
    server.access.clear();
    const calls = await Promise.all(Array.from({ length: 8 }, () => opened.call("mcp_s_x")));
    expect(calls.every(({ success }) => success)).toBe(true);
    expect(server.asked.map((asked) => asked.get("grant_type"))).toEqual([
      "authorization_code",
      "refresh_token",
    ]);
    server.access.clear();
    server.refresh.clear();
    const { error } = await opened.call("mcp_s_x");
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
    expect(JSON.stringify(error)).not.toMatch(/(access|refresh)-[0-9a-f]/);
  });

  test("gets more scopes only from a person, and keeps those that it had", async () => {
    await using server = await serveProtected();
    server.callScope = "write";
    const home = await directory();
    await using opened = await openProtected(server, { directory: home });
    expect((await opened.call("mcp_s_x")).success).toBe(true);
    expect([...server.access.values()]).toEqual(["basic", "basic write"]);
    server.callScope = "admin";
    const { url, addresses, net } = server;
    await using alone = await open({ s: { url, addresses, oauth: { directory: home, net } } });
    const { error } = await alone.call("mcp_s_x");
    expect(error).toMatchObject({ code: "sandbox_unavailable", effect: "none" });
  });

  test("is used with the client's own credentials", async () => {
    await using server = await serveProtected();
    const { url, addresses, net } = server;
    const client = {
      clientId: "machine",
      clientSecret: "machine-secret",
      grant: "client_credentials",
    } as const;
    await using opened = await open({
      s: { url, addresses, oauth: { directory: await directory(), net, ...client } },
    });
    expect((await opened.call("mcp_s_x")).success).toBe(true);
    server.access.clear();
    expect((await opened.call("mcp_s_x")).success).toBe(true);
  });

  test("that names another authorization server does not get it the tokens of the first", async () => {
    await using server = await serveProtected();
    await using other = await serveProtected();
    const home = await directory();
    await using opened = await openProtected(server, { directory: home, net: [...server.net, ...other.net] });
    expect((await opened.call("mcp_s_x")).success).toBe(true);
    const { url, addresses } = server;
    const net = [...server.net, ...other.net];
    await using alone = await open({ s: { url, addresses, oauth: { directory: home, net } } });
    server.resource = { authorization_servers: [other.issuer] };
    server.access.clear();
    expect((await alone.call("mcp_s_x")).error).toMatchObject({
      code: "sandbox_unavailable",
      effect: "none",
    });
    expect([other.asked, other.registered, server.asked.length]).toEqual([[], 0, 1]);
  });

  test("that repeats a token in a result does not tell it to the model", async () => {
    await using server = await serveProtected();
    await using opened = await openProtected(server, { directory: await directory() });
    const execution = await opened.call("mcp_s_x");
    expect(execution.output).toEqual({ content: [{ type: "text", text: "the token is [token]" }] });
    expect(JSON.stringify([execution, opened.seen, opened.notices])).not.toContain(
      [...server.access.keys()][0],
    );
  });

  test.each<[string, (server: Protected) => void, string]>([
    [
      "names an authorization server that is not granted",
      (server) => {
        server.resource = { authorization_servers: ["http://127.0.0.1:9"] };
      },
      "its authorization server is at http://127.0.0.1:9, which is not granted",
    ],
    [
      "has a page that is not granted",
      (server) => {
        server.metadata = { authorization_endpoint: "https://evil.example/authorize" };
      },
      "its authorization server is at https://evil.example, which is not granted",
    ],
    [
      "has an endpoint for tokens that is not granted",
      (server) => {
        server.metadata = { token_endpoint: "https://evil.example/token" };
      },
      "its authorization server is at https://evil.example, which is not granted",
    ],
    [
      "names another resource",
      (server) => {
        server.resource = { resource: "https://other.example/mcp" };
      },
      "does not match",
    ],
  ])("fails if it %s", async (_, prepare, problem) => {
    await using server = await serveProtected();
    prepare(server);
    await using opened = await openProtected(server, { directory: await directory() });
    expect(problemOf(opened)).toContain(problem);
    expect(server.asked).toEqual([]);
  });
});

test.each<[string, object, string]>([
  ["no directory", { directory: "" }, "directory"],
  ["a secret without a client", { directory: "d", clientSecret: "hidden" }, "clientId"],
  [
    "client_credentials without a secret",
    { directory: "d", clientId: "a", grant: "client_credentials" },
    "clientSecret",
  ],
  [
    "metadata that are not at an https: URL",
    { directory: "d", clientMetadataUrl: "http://a.example/b" },
    "https:",
  ],
  ["an invalid origin", { directory: "d", net: ["example.com"] }, "origin"],
])("openMcp refuses oauth with %s", async (_, oauth, problem) => {
  const opening = open({ s: { url: "https://a.example/mcp", oauth: oauth as OAuthOptions } });
  await expect(opening).rejects.toThrow(problem);
  await expect(opening).rejects.not.toThrow("hidden");
});

test("openMcp refuses oauth beside an authorization header", async () => {
  const server = { url: "https://a.example/mcp", headers: { Authorization: "x" }, oauth: { directory: "d" } };
  await expect(open({ s: server })).rejects.toThrow("either oauth or an authorization header");
});
