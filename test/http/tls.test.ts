import { once } from "node:events";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Executor } from "../../src/executor/executor.ts";
import type { ExecutorOptions } from "../../src/executor/options.ts";
import type { RefusedHandshake } from "../../src/http/tls/tls-connections.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { Authority, type Issued } from "../certificates.ts";
import { CountingTool, dispatchBody, startExecutor, until } from "../executor/harness.ts";

const TOKEN = "0123456789abcdef";
const authority = new Authority();
const stranger = new Authority();
const server = authority.issue();
afterAll(() => {
  authority[Symbol.dispose]();
  stranger[Symbol.dispose]();
});

const agent = authority.issue({
  subject: "/O=Example/CN=agent",
  names: ["URI:spiffe://example.org/agent", "DNS:agent"],
});

interface Started {
  readonly executor: Executor;
  readonly counting: CountingTool;
  readonly refused: RefusedHandshake[];
}

async function start(options: Partial<ExecutorOptions>): Promise<Started> {
  const counting = new CountingTool();
  const refused: RefusedHandshake[] = [];
  const executor = await startExecutor([counting.tool], {
    tls: server,
    onRefusedHandshake: (handshake) => refused.push(handshake),
    ...options,
  });
  return { executor, counting, refused };
}

function portOf({ address }: Executor): number {
  return Number(address.split(":").at(-1));
}

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

async function send(
  executor: Executor,
  tls: ConnectionOptions & { readonly headers?: Record<string, string> } = {},
): Promise<Sent> {
  const { headers = {}, ...given } = tls;
  const sent = request({
    host: "127.0.0.1",
    port: portOf(executor),
    path: "/v1/dispatch",
    method: "POST",
    agent: false,
    ca: authority.cert,
    ...given,
    headers: { "content-type": "application/json", ...headers },
  });
  sent.end(dispatchBody({ name: "count" }));
  const [response] = await once(sent, "response");
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, text, headers: response.headers };
}

async function handshake(executor: Executor, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ host: "127.0.0.1", port: portOf(executor), ca: authority.cert, ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

describe("a server with TLS", () => {
  test("serves HTTPS of version 1.2 and later, and no older version", async () => {
    const { executor, refused } = await start({});
    expect(executor.scheme).toBe("https");
    expect(await send(executor)).toMatchObject({ status: 200 });
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const socket = await handshake(executor, { minVersion: version, maxVersion: version });
      expect(socket.getProtocol()).toBe(version);
    }
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" } as const;
    await expect(handshake(executor, old)).rejects.toThrow();
    await until(() => refused.length === 1);
    expect(refused[0]).toMatchObject({ code: "ERR_SSL_UNSUPPORTED_PROTOCOL", address: "127.0.0.1" });
  });

  test("does not answer plain HTTP, and reports the attempt", async () => {
    const { executor, refused } = await start({});
    const socket = connectTcp(portOf(executor), "127.0.0.1");
    socket.end("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    expect(text).not.toContain("200");
    await until(() => refused.length === 1);
    expect(refused[0]).toMatchObject({ code: "ERR_SSL_HTTP_REQUEST" });
  });

  test("counts refused handshakes in its metrics, and a listener that throws changes nothing", async () => {
    const { executor } = await start({
      onRefusedHandshake: () => {
        throw new Error("no");
      },
    });
    const socket = connectTcp(portOf(executor), "127.0.0.1");
    socket.end("junk junk junk\r\n\r\n");
    await once(socket.resume(), "close");
    const sent = request({
      host: "127.0.0.1",
      port: portOf(executor),
      path: "/metrics",
      ca: authority.cert,
      agent: false,
    });
    sent.end();
    const [response] = await once(sent, "response");
    let text = "";
    for await (const chunk of response) text += String(chunk);
    expect(text).toContain("sandgate_tls_handshakes_refused_total 1\n");
  });

  test("limits the connections of an address, and goes on with those that are open", async () => {
    const { executor } = await start({ limits: { connectionsPerAddress: 1 } });
    const first = await handshake(executor, {});
    await expect(handshake(executor, {})).rejects.toThrow();
    first.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    const [answer] = await once(first, "data");
    expect(String(answer)).toContain("200 OK");
  });

  test("reports no handshake for a connection that it refuses because there are too many", async () => {
    const { executor, refused } = await start({ limits: { connectionsPerAddress: 1 } });
    const first = await handshake(executor, {});
    const second = connectTcp(portOf(executor), "127.0.0.1").on("error", () => {});
    await once(second, "close");
    first.destroy();
    let metrics = "";
    while (metrics === "") {
      const got = request({
        host: "127.0.0.1",
        port: portOf(executor),
        path: "/metrics",
        ca: authority.cert,
      });
      const [response] = await once(got.end(), "response").catch(() => [undefined]);
      for await (const chunk of response ?? []) metrics += String(chunk);
    }
    expect(metrics).toContain("\nsandgate_connections_refused_total ");
    expect(metrics).not.toContain("\nsandgate_connections_refused_total 0\n");
    expect(metrics).toContain("\nsandgate_tls_handshakes_refused_total 0\n");
    expect(refused).toEqual([]);
  });

  test("closes while a client has not ended its handshake", async () => {
    const { executor } = await start({ limits: { drainMs: 50 } });
    const socket = connectTcp(portOf(executor), "127.0.0.1");
    await once(socket, "connect");
    const closed = once(socket.on("error", () => {}).resume(), "close");
    await executor.close();
    await closed;
  });

  test("listens beyond this machine with credentials, and without TLS only if told to", async () => {
    const open = { listen: "0.0.0.0:0", token: TOKEN };
    await expect(startExecutor([], open)).rejects.toThrow(/without TLS, .* unless 'plainHttp'/);
    await expect(startExecutor([], { listen: "0.0.0.0:0", tls: server })).rejects.toThrow(
      /without signature keys/,
    );
    expect((await startExecutor([], { ...open, tls: server })).address).toMatch(/^0\.0\.0\.0:/);
    expect((await startExecutor([], { ...open, plainHttp: true })).address).toMatch(/^0\.0\.0\.0:/);
  });

  test.each<[string, () => Partial<ExecutorOptions>, RegExp]>([
    [
      "a certificate that is none",
      () => ({ tls: { ...server, cert: "x" } }),
      /tls\.cert must have a certificate/,
    ],
    [
      "a damaged certificate",
      () => ({ tls: { ...server, cert: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" } }),
      /tls\.cert has a certificate that cannot be read/,
    ],
    [
      "the key of another certificate",
      () => ({ tls: { ...server, key: agent.key } }),
      /not the key of tls\.cert/,
    ],
    [
      "a key that is none",
      () => ({ tls: { ...server, key: "secret-text" } }),
      /tls\.key must be a private key/,
    ],
    [
      "an expired certificate",
      () => ({ tls: authority.issue({ subject: "/CN=old", isExpired: true }) }),
      /tls\.cert expired/,
    ],
    ["no authority", () => ({ tls: { ...server, clientCa: server.cert } }), /not an authority's/],
    [
      "certificates of clients without their authorities",
      () => ({ tls: server, certificates: [{ id: "a", certificate: "DNS:a" }] }),
      /need tls\.clientCa/,
    ],
    [
      "a name of a certificate that is none",
      () => ({
        tls: { ...server, clientCa: authority.cert },
        certificates: [{ id: "a", certificate: "agent" }],
      }),
      /must be DNS:NAME, URI:URI/,
    ],
  ])("does not start with %s", async (_, options, message) => {
    const starting = startExecutor([], options());
    await expect(starting).rejects.toThrow(message);
    await expect(starting).rejects.not.toThrow(/secret-text/);
  });
});

describe("a reload of certificates", () => {
  function replace(executor: Executor, tls: NonNullable<ExecutorOptions["tls"]>): void {
    executor.reload({ registry: new ToolRegistry(), policy: new HostPolicy(), tls });
  }

  test("is used by new connections, and open ones go on", async () => {
    const { executor } = await start({});
    const before = await handshake(executor, {});
    const renewed = authority.issue();
    replace(executor, renewed);
    const after = await handshake(executor, {});
    expect(after.getPeerCertificate().serialNumber).not.toBe(before.getPeerCertificate().serialNumber);
    before.end("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let text = "";
    for await (const chunk of before) text += String(chunk);
    expect(text).toContain("200 OK");
  });

  test("that is invalid changes nothing", async () => {
    const { executor } = await start({});
    const before = await handshake(executor, {});
    expect(() => replace(executor, { ...authority.issue(), key: server.key })).toThrow(/not the key/);
    expect(() => replace(executor, { ...server, clientCa: authority.cert })).toThrow(/restart the server/);
    const after = await handshake(executor, {});
    expect(after.getPeerCertificate().serialNumber).toBe(before.getPeerCertificate().serialNumber);
    expect(await send(executor)).toMatchObject({ status: 200 });
    const { executor: plain } = await start({ tls: undefined as never });
    expect(() => replace(plain, server)).toThrow(/cannot begin to use TLS/);
  });

  test("with other authorities of clients ends the connections and credentials of the old ones", async () => {
    const certificates = [{ id: "agent", certificate: "DNS:agent" }];
    const { executor, refused } = await start({ tls: { ...server, clientCa: authority.cert }, certificates });
    const get = `GET /v1/tools HTTP/1.1\r\nhost: 127.0.0.1:${portOf(executor)}\r\n\r\n`;
    const idle = await handshake(executor, agent);
    idle.write(get);
    const [answered] = await once(idle, "data");
    expect(String(answered)).toMatch(/^HTTP\/1.1 200/);
    const begun = await handshake(executor, agent);
    begun.write(get.slice(0, 20));
    // The server has begun to read: it answers on a connection that began later.
    await send(executor, agent);
    const closed = once(idle.resume(), "close");
    executor.reload({
      registry: new ToolRegistry(),
      policy: new HostPolicy(),
      certificates,
      tls: { ...server, clientCa: stranger.cert },
    });
    await closed;
    begun.write(get.slice(20));
    let text = "";
    for await (const chunk of begun) text += String(chunk);
    expect(text).toMatch(/^HTTP\/1.1 401/);
    await expect(send(executor, agent)).rejects.toThrow();
    await until(() => refused.length === 1);
    expect(refused).toMatchObject([{ code: expect.stringMatching(/VERIFY|SELF_SIGNED/) }]);
    const issued = stranger.issue({ subject: "/CN=x", names: ["DNS:agent"] });
    expect(await send(executor, issued)).toMatchObject({ status: 200 });
  });

  test("with other authorities refuses handshakes that began with the old ones", async () => {
    const certificates = [{ id: "agent", certificate: "DNS:agent" }];
    const { executor, refused } = await start({ tls: { ...server, clientCa: authority.cert }, certificates });
    // In TLS 1.3, the server ends the handshake after the client, in a later turn.
    const socket = await handshake(executor, agent);
    executor.reload({
      registry: new ToolRegistry(),
      policy: new HostPolicy(),
      certificates,
      tls: { ...server, clientCa: stranger.cert },
    });
    await once(socket.on("error", () => {}).resume(), "close");
    expect(refused).toMatchObject([{ code: "AUTHORITIES_REPLACED" }]);
  });
});

test("certificates of clients cannot be asked for on a unix socket", async () => {
  const listen = `unix:${join(tmpdir(), `sandgate-tls-${process.pid}.sock`)}`;
  const starting = startExecutor([], { listen, tls: { ...server, clientCa: authority.cert } });
  await expect(starting).rejects.toThrow(/cannot be used on a unix socket/);
});

describe("certificates of clients", () => {
  const clientCa = authority.cert;
  const certificates = [
    { id: "agent", certificate: "URI:spiffe://example.org/agent" },
    { id: "mail", certificate: "email:ann@example.org" },
    { id: "other", certificate: "DNS:other" },
  ];

  test("authenticate by a name that a credential has", async () => {
    const { executor, counting } = await start({ tls: { ...server, clientCa }, certificates });
    expect(await send(executor, agent)).toMatchObject({ status: 200 });
    const mail = authority.issue({ subject: "/CN=ann", names: ["email:ann@example.org"] });
    expect(await send(executor, mail)).toMatchObject({ status: 200 });
    expect(counting.calls).toBe(2);
  });

  test("authenticate by the whole subject, as RFC 4514 writes it", async () => {
    const issued = authority.issue({ subject: "/O=Example, Inc./CN=agent" });
    const name = `subject:${authority.subjectOf(issued)}`;
    const { executor } = await start({
      tls: { ...server, clientCa },
      certificates: [{ id: "agent", certificate: name }],
    });
    expect(name).toBe("subject:CN=agent,O=Example\\, Inc.");
    expect(await send(executor, issued)).toMatchObject({ status: 200 });
    const part = authority.issue({ subject: "/CN=agent" });
    expect(await send(executor, part)).toMatchObject({ status: 401 });
  });

  test.each<[string, () => Partial<Issued>, string]>([
    ["none", () => ({}), "NO_CLIENT_CERTIFICATE"],
    [
      "one of another authority",
      () => stranger.issue({ subject: "/CN=agent", names: ["DNS:other"] }),
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    ],
    [
      "an expired one",
      () => authority.issue({ subject: "/CN=agent", names: ["DNS:other"], isExpired: true }),
      "CERT_HAS_EXPIRED",
    ],
    [
      "one for servers",
      () => authority.issue({ subject: "/CN=agent", names: ["DNS:other"], use: "serverAuth" }),
      "INVALID_PURPOSE",
    ],
  ])("are required: a client with %s is refused before its request is read", async (_, issue, code) => {
    const issued = issue();
    const { executor, counting, refused } = await start({
      tls: { ...server, clientCa },
      certificates,
      token: TOKEN,
    });
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      const headers = { authorization: `Bearer ${TOKEN}` };
      await expect(send(executor, { ...issued, maxVersion, headers })).rejects.toThrow();
    }
    await until(() => refused.length === 2);
    expect(refused).toMatchObject([{ code, address: "127.0.0.1" }, { code }]);
    expect(counting.calls).toBe(0);
  });

  test("are optional if the server says so, and an invalid one is refused all the same", async () => {
    const tls = { ...server, clientCa, clientCertificates: "optional" } as const;
    const { executor, counting } = await start({ tls, certificates, token: TOKEN });
    expect(await send(executor, { headers: { authorization: `Bearer ${TOKEN}` } })).toMatchObject({
      status: 200,
    });
    expect(await send(executor, agent)).toMatchObject({ status: 200 });
    expect(await send(executor)).toMatchObject({ status: 401 });
    const foreign = stranger.issue({ subject: "/CN=agent", names: ["DNS:other"] });
    const headers = { authorization: `Bearer ${TOKEN}` };
    await expect(send(executor, { ...foreign, headers })).rejects.toThrow();
    expect(counting.calls).toBe(2);
  });

  test.each([
    ["no name that a credential has", ["DNS:agent", "DNS:otherx"], 401],
    ["the names of two credentials", ["DNS:other", "URI:spiffe://example.org/agent"], 401],
    ["two names of which one is known", ["DNS:unknown", "DNS:other"], 200],
    ["a name of another type", ["URI:other"], 401],
    ["a name that seems to end before another one", ["URI:x, DNS:other"], 401],
    ["a name in quotes that seems to end", ['URI:"x", DNS:other'], 401],
    ["its subject as an alternative name", ["DNS:subject:CN=agent"], 401],
  ])("with %s", async (_, names, status) => {
    const { executor } = await start({ tls: { ...server, clientCa }, certificates });
    const issued = authority.issue({ subject: "/CN=agent", names });
    expect(await send(executor, issued)).toMatchObject({ status });
  });

  test("are not used for a request that a page of another site made a browser send", async () => {
    const { executor } = await start({ tls: { ...server, clientCa }, certificates });
    for (const site of ["cross-site", "same-site"]) {
      const headers = { "sec-fetch-site": site };
      expect(await send(executor, { ...agent, headers })).toMatchObject({ status: 401 });
    }
  });

  test("do not replace a wrong token", async () => {
    const { executor } = await start({ tls: { ...server, clientCa }, certificates, token: TOKEN });
    const headers = { authorization: "Bearer wrong-wrong-wrong" };
    expect(await send(executor, { ...agent, headers })).toMatchObject({ status: 401 });
  });
});
