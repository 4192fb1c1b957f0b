import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";
import { Authority, type Issued } from "../../certificates.ts";
import { createFolder, PROJECT, sandgate } from "../sandgate.ts";
import { serve, start, withServer } from "../serve.ts";

const authority = new Authority();
afterAll(() => authority[Symbol.dispose]());
const [server, agent, ann] = [
  authority.issue(),
  authority.issue({ subject: "/CN=agent", names: ["URI:spiffe://example.org/agent"] }),
  authority.issue({ subject: "/O=Example/CN=ann" }),
];
const FILES = {
  "server.pem": server.cert,
  "server.key": server.key,
  "ca.pem": authority.cert,
  "agent.pem": agent.cert,
  "agent.key": agent.key,
};
const TLS = "tls: { cert: server.pem, key: server.key, clientCa: ca.pem }";

async function get(
  address: string,
  path: string,
  client: Partial<Issued>,
): Promise<[status: number, serial: string]> {
  const [host, port] = address.split(":");
  const sent = request({ host, port, path, agent: false, ca: authority.cert, ...client });
  sent.end();
  const [response] = await once(sent, "response");
  response.resume();
  return [response.statusCode, response.socket.getPeerCertificate().serialNumber];
}

describe("sandgate serve with TLS", () => {
  test("answers sandgate dispatch, whose config names its certificate", async () => {
    const served = await serve({
      ...withServer(`{ ${TLS}, certificates: { agent: "URI:spiffe://example.org/agent" } }`),
      ...FILES,
    });
    const config = (remote: string): string => `
tools:
  - name: add
    description: Adds.
    inputSchema: { type: object }
    remote: { executor: "https://${served.address}" }
policy: { rules: [{ tools: [add], effect: allow, sandboxes: [remote] }] }
sandboxes: { remote: ${remote} }
`;
    const folder = await createFolder({
      ...FILES,
      "with.yaml": config("{ ca: ca.pem, cert: agent.pem, key: agent.key }"),
      "without.yaml": config("{ ca: ca.pem }"),
      "broken.yaml": config("{ ca: nothing.pem, cert: agent.pem, key: server.key }"),
    });
    const dispatch = (file: string): ReturnType<typeof sandgate> =>
      sandgate(["dispatch", "--config", join(folder, file), "--output", "json"], {
        stdin: JSON.stringify({ id: "1", name: "add", arguments: { a: 1, b: 2 } }),
      });
    expect((await dispatch("with.yaml")).stdout).toContain('"output": 3');
    expect((await dispatch("without.yaml")).stdout).toContain('"success": false');
    expect((await dispatch("broken.yaml")).stderr).toMatch(/nothing\.pem|the file cannot be read/);
    await served.end();
    const entries = (await served.log())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(entries).toContainEqual(
      expect.objectContaining({
        level: "warn",
        event: "handshake.refused",
        code: "NO_CLIENT_CERTIFICATE",
        address: "127.0.0.1",
      }),
    );
  });

  test("gives the principals of certificates their roles in sessions", async () => {
    const credentials = `[
      { id: agent, certificate: "URI:spiffe://example.org/agent", roles: [caller] },
      { id: ann, certificate: "subject:CN=ann,O=Example", roles: [approver], approves: ["*"] },
      { id: bob, certificate: "email:bob@example.org", roles: [admin] } ]`;
    const served = await serve({
      ...withServer(`{ ${TLS}, sessions: true, credentials: ${credentials.replaceAll("\n", " ")} }`),
      ...FILES,
    });
    const bob = authority.issue({ subject: "/CN=bob", names: ["email:bob@example.org"] });
    const stranger = authority.issue({ subject: "/CN=stranger" });
    const statuses: number[] = [];
    for (const client of [agent, ann, bob, stranger]) {
      const [status] = await get(served.address, "/v1/confirmations", client);
      statuses.push(status);
    }
    expect(statuses).toEqual([403, 200, 200, 401]);
  });

  test("loads renewed certificates on SIGHUP, and a bad file changes nothing", async () => {
    const folder = await createFolder({
      ...withServer(`{ ${TLS}, certificates: { agent: "URI:spiffe://example.org/agent" } }`),
      ...FILES,
    });
    const { address, child } = await start(folder);
    const lines = createInterface(child.stderr as Readable)[Symbol.asyncIterator]();
    const reload = async (): Promise<string> => {
      child.kill("SIGHUP");
      for (;;) {
        const { event, problems = [] } = JSON.parse((await lines.next()).value ?? "");
        if (/^config\.re/.test(event)) return `${event} ${problems.join()}`;
      }
    };
    const [, before] = await get(address, "/v1/tools", agent);
    const renewed = authority.issue();
    await writeFile(join(folder, "server.pem"), renewed.cert);
    expect(await reload()).toMatch(/^config\.refused .*tls\.key is not the key of tls\.cert/);
    expect(await get(address, "/v1/tools", agent)).toEqual([200, before]);
    await writeFile(join(folder, "server.key"), renewed.key);
    expect(await reload()).toMatch(/^config\.reloaded/);
    const [status, after] = await get(address, "/v1/tools", agent);
    expect(status).toBe(200);
    expect(after).not.toBe(before);
    const config = join(folder, "sandgate.yaml");
    const text = await readFile(config, "utf8");
    await writeFile(config, text.replace(/^server:.*$/m, "server: {}"));
    expect(await reload()).toMatch(/^config\.refused .*begin or cease to use TLS/);
    expect(await get(address, "/v1/tools", agent)).toEqual([200, after]);
  });

  test("is needed beyond this machine, unless the config says that others encrypt", async () => {
    const folder = await createFolder(withServer('{ token: { file: token }, listen: "0.0.0.0:0" }'));
    await writeFile(join(folder, "token"), "correct-horse-battery-staple");
    const { code, stderr } = await sandgate(["serve", "--config", join(folder, "sandgate.yaml")]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/without TLS, .*plainHttp/);
    const served = await serve(
      { ...withServer("{ token: { file: token }, plainHttp: true }"), token: "correct-horse-battery-staple" },
      ["--listen", "0.0.0.0:0"],
    );
    expect(served.address).toMatch(/^0\.0\.0\.0:/);
  });

  test.each([
    ["{ tls: { cert: server.pem } }", /key/],
    ["{ tls: { cert: missing.pem, key: server.key } }", /the file cannot be read/],
    ["{ tls: { cert: server.pem, key: agent.key } }", /tls\.key is not the key of tls\.cert/],
    ["{ tls: { cert: server.pem, key: server.key, clientCertificates: optional } }", /clientCa/],
    ['{ tls: { cert: server.pem, key: server.key }, certificates: { a: "DNS:a" } }', /needs tls\.clientCa/],
    [`{ ${TLS}, certificates: { a: agent } }`, /must be DNS:NAME/],
    [
      '{ sessions: true, credentials: [{ id: a, certificate: "DNS:a", roles: [caller] }] }',
      /needs tls\.clientCa/,
    ],
    [
      `{ ${TLS}, sessions: true, credentials: [{ id: a, certificate: "DNS:a", roles: [caller] }, { id: b, certificate: "DNS:a", roles: [reader] }] }`,
      /could not be told apart/,
    ],
  ])("refuses the config %s", async (text, message) => {
    const folder = await createFolder({ ...PROJECT, ...withServer(text), ...FILES });
    const { code, stderr } = await sandgate(["serve", "--config", join(folder, "sandgate.yaml")]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test("accepts the configs of docs/remote-protocol.md", async () => {
    const docs = await readFile(new URL("../../../docs/remote-protocol.md", import.meta.url), "utf8");
    const [, section = ""] = /\n## TLS\n(.*?)\n## /s.exec(docs) ?? [];
    const blocks = Array.from(section.matchAll(/```yaml\n(.*?)```/gs), ([, block]) => block);
    expect(blocks).toHaveLength(2);
    const folder = await createFolder({
      ...PROJECT,
      "sandgate.yaml": [PROJECT["sandgate.yaml"]?.replace(/^sandboxes:.*\n(?: .*\n)*/m, ""), ...blocks].join(
        "\n",
      ),
      "tls/server.pem": server.cert,
      "tls/server.key": server.key,
      "tls/clients.pem": authority.cert,
      "tls/ca.pem": authority.cert,
      "tls/agent.pem": agent.cert,
      "tls/agent.key": agent.key,
    });
    const { code, stdout, stderr } = await sandgate(["check", "--config", join(folder, "sandgate.yaml")]);
    // The document shows the part of a client's config that is about TLS: its tools are elsewhere.
    expect(stderr).toMatch(/^\S+: warning: no tool has 'remote\.executor': add one, or remove this\n$/);
    expect(stdout).toMatch(/0 errors/);
    expect(code).toBe(0);
  });
});
