import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import net, { type AddressInfo, isIP, type LookupFunction, type Socket } from "node:net";
import { afterAll, beforeEach, describe, expect, test, vi } from "vitest";
import { Egress } from "../../src/egress/egress.ts";
import { EgressError } from "../../src/egress/egress-error.ts";
import type { EgressResponse } from "../../src/egress/request.ts";
import type { NetGrant } from "../../src/policy/grant/net-grant.ts";

interface UrlRow {
  readonly id: string;
  readonly url: string;
  readonly expect: "allow" | "deny" | "allow_or_deny_consistent" | "deny_or_policy" | "no_header_injection";
  readonly why: string;
  readonly whatwg_host?: string;
}
interface RedirectRow {
  readonly id: string;
  readonly status: number;
  readonly location?: string | readonly string[];
  readonly header?: string;
  readonly expect: string;
}

const folder = `${process.env["SANDGATE_CORPORA"]}/ssrf`;
const read = <Row>(file: string): Row[] =>
  readFileSync(`${folder}/${file}`, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const urls = read<UrlRow>("ssrf.jsonl");
const redirects = read<RedirectRow>("redirects.jsonl");

const PUBLIC = "93.184.216.34";
const EVERYWHERE = ["http://*:*", "https://*:*"];
const ALLOWED_TEST = ["http://allowed.test:*", "https://allowed.test:*"];

/** Whoever owns the other names has them point inward; what nobody owns cannot be resolved. */
const resolve = async (name: string): Promise<readonly string[]> => {
  if (name === "allowed.test") return [PUBLIC];
  const embedded = /^(\d+\.\d+\.\d+\.\d+)\.nip\.io$/.exec(name)?.[1];
  if (embedded !== undefined) return [embedded];
  if (name.includes("metadata")) return ["169.254.169.254"];
  if (name === "ip6-localhost") return ["::1"];
  if (/(^|\.)(localhost|test)\.?$/.test(name)) return [name === "other.test" ? "127.0.0.2" : "127.0.0.1"];
  throw new Error("no such name");
};

/** The server that nobody may reach, and one that stands for every public address. */
let canaryHits = 0;
const canary = createServer((_request, response) => {
  canaryHits++;
  response.end();
}).on("connection", () => canaryHits++);
const publicHeads: string[] = [];
const standIn = createServer((request, response) => {
  publicHeads.push(request.rawHeaders.join("\n"));
  response.end("{}");
});
const portOf = async (server: typeof canary, host: string): Promise<number> => {
  await new Promise<void>((listening) => server.listen(0, host, listening));
  return (server.address() as AddressInfo).port;
};
const canaryPort = await portOf(canary, "127.0.0.1");
const standInPort = await portOf(standIn, "127.0.0.1");

/** Every address that a connection was opened to, through the one function that opens them. */
const contacted: string[] = [];
const realConnect = net.connect;
vi.spyOn(net, "connect").mockImplementation(((options: net.TcpNetConnectOpts, ...more: never[]): Socket => {
  const host = options.host ?? "";
  const lookup: LookupFunction = (name, how, callback) => {
    options.lookup?.(name, how, (error, addresses, family) => {
      if (error !== null) return callback(error, addresses, family);
      const found = Array.isArray(addresses) ? addresses.map(({ address }) => address) : [addresses];
      contacted.push(...found);
      const target = found.includes(PUBLIC) ? "127.0.0.1" : (found[0] ?? "");
      callback(null, Array.isArray(addresses) ? [{ address: target, family: 4 }] : target, 4);
    });
  };
  if (isIP(host) !== 0) contacted.push(host);
  const isPublic =
    isIP(host) !== 0 ? !host.startsWith("127.") : host === "allowed.test" || host === "flip.test";
  return realConnect(
    {
      ...options,
      ...(isIP(host) === 0 ? { lookup } : isPublic && { host: "127.0.0.1" }),
      ...(isPublic && { port: standInPort }),
    },
    ...more,
  );
}) as typeof net.connect);

afterAll(() => {
  for (const server of [canary, standIn]) server.closeAllConnections();
  canary.close();
  standIn.close();
});
beforeEach(() => {
  contacted.length = 0;
  publicHeads.length = 0;
});

async function outcomeOf(
  egress: Egress,
  url: string,
  grants: readonly NetGrant[],
  more: { readonly headers?: Record<string, string>; readonly maxRedirects?: number } = {},
): Promise<EgressResponse | EgressError> {
  const limits = { timeoutMs: 5_000, bodyBytes: 10_000 };
  try {
    return await egress.send({ method: "GET", url, grants, limits, ...more });
  } catch (error) {
    if (error instanceof EgressError) return error;
    throw error;
  }
}

const grantsFor = ({ why }: UrlRow): readonly string[] =>
  why.includes("allow-list = allowed.test") ? ALLOWED_TEST : EVERYWHERE;

describe("a URL", () => {
  test.each(urls.filter((row) => row.expect === "deny"))("$id $url is denied", async (row) => {
    const egress = new Egress({ resolve });
    // The same host, where something would answer.
    const atCanary = URL.parse(row.url);
    if (atCanary !== null) atCanary.port = String(canaryPort);
    for (const url of [row.url, ...(atCanary === null ? [] : [atCanary.href])]) {
      const outcome = await outcomeOf(egress, url, grantsFor(row));
      expect(outcome).toBeInstanceOf(EgressError);
      expect(outcome).toMatchObject({ sent: false });
    }
    await egress.close();
    expect(contacted).toEqual([]);
    expect(canaryHits).toBe(0);
  });

  test.each(urls.filter((row) => row.expect === "allow"))("$id $url is allowed", async (row) => {
    const egress = new Egress({ resolve });
    expect(await outcomeOf(egress, row.url, grantsFor(row))).toMatchObject({ status: 200 });
    await egress.close();
    expect(contacted).toEqual([row.whatwg_host]);
  });

  test.each(
    urls.filter((row) => row.expect === "allow_or_deny_consistent" || row.expect === "deny_or_policy"),
  )("$id $url is decided the same way every time, without reaching anything inside", async (row) => {
    const egress = new Egress({ resolve });
    const answers: string[] = [];
    for (let i = 0; i < 2; i++) {
      const outcome = await outcomeOf(egress, row.url, grantsFor(row));
      answers.push(outcome instanceof EgressError ? outcome.code : String(outcome.status));
    }
    await egress.close();
    expect(answers[1]).toBe(answers[0]);
    expect(contacted.every((address) => address === PUBLIC)).toBe(true);
    expect(canaryHits).toBe(0);
  });

  test.each(
    urls.filter((row) => row.expect === "no_header_injection"),
  )("$id $url injects no header", async (row) => {
    const egress = new Egress({ resolve });
    await outcomeOf(egress, row.url, grantsFor(row));
    await egress.close();
    for (const head of publicHeads) expect(head).not.toMatch(/x-evil/i);
  });
});

describe("a redirect", () => {
  const grants = (port: number): readonly NetGrant[] => [
    ...EVERYWHERE,
    { origin: `http://first.test:${port}`, addresses: ["127.0.0.1/32"] },
    { origin: "http://other.test:*", addresses: ["127.0.0.2/32"] },
  ];

  test.each(redirects)("$id is as expected: $expect", async (row) => {
    let otherHead = "";
    const other = createServer((request, response) => {
      otherHead = request.rawHeaders.join("\n");
      response.end("other");
    });
    const otherPort = await portOf(other, "127.0.0.2");
    const first = createServer((_request, response) => {
      const port = row.id.includes("cross-origin") ? otherPort : canaryPort;
      const location = [row.location ?? []].flat().map((to) => to.replace("{port}", String(port)));
      response.statusCode = row.status;
      if (row.header !== undefined) response.setHeader("refresh", row.header.replace(/^refresh: /i, ""));
      if (location.length > 0) response.setHeader("location", location);
      response.end("first");
    });
    const firstPort = await portOf(first, "127.0.0.1");
    const egress = new Egress({ resolve });
    const headers = { authorization: "Bearer secret", cookie: "a=b" };
    const options = { headers, maxRedirects: 5 };
    const outcome = await outcomeOf(egress, `http://first.test:${firstPort}/`, grants(firstPort), options);
    await egress.close();
    for (const server of [first, other]) server.close();
    if (row.expect === "deny" || row.expect === "error_or_first") expect(outcome).toBeInstanceOf(EgressError);
    else expect(outcome).toMatchObject({ status: 200 });
    if (row.expect === "no_authorization_header_on_second_hop") {
      expect(otherHead).toMatch(/host/i);
      expect(otherHead).not.toMatch(/authorization|cookie/i);
    }
    expect(canaryHits).toBe(0);
  });
});

describe("a name", () => {
  test("whose answer changes between check and connect is contacted where it was checked", async () => {
    const answers = [[PUBLIC], ["127.0.0.1"]];
    const egress = new Egress({ resolve: async () => answers.shift() ?? [] });
    const url = `http://flip.test:${canaryPort}/`;
    expect(await outcomeOf(egress, url, EVERYWHERE)).toMatchObject({ status: 200 });
    expect(contacted).toEqual([PUBLIC]);
    await egress.close();
    const later = new Egress({ resolve: async () => answers.shift() ?? [] });
    expect(await outcomeOf(later, url, EVERYWHERE)).toMatchObject({ code: "address_denied", sent: false });
    await later.close();
    expect(canaryHits).toBe(0);
  });

  test("with one address inside among public ones is not contacted at all", async () => {
    const egress = new Egress({ resolve: async () => [PUBLIC, "::ffff:127.0.0.1"] });
    const outcome = await outcomeOf(egress, `http://both.test:${canaryPort}/`, EVERYWHERE);
    expect(outcome).toMatchObject({ code: "address_denied", sent: false });
    await egress.close();
    expect(contacted).toEqual([]);
  });

  test("that is a server inside is reached when the grant names its address: the canary can be hit", async () => {
    const egress = new Egress({ resolve });
    const grants = [{ origin: "http://inside.test:*", addresses: ["127.0.0.0/8"] }];
    const before = canaryHits;
    const outcome = await outcomeOf(egress, `http://inside.test:${canaryPort}/`, grants);
    await egress.close();
    expect(outcome).toMatchObject({ status: 200 });
    expect(canaryHits).toBeGreaterThan(before);
    console.log(`ssrf: ${urls.length} URLs, ${redirects.length} redirects, ${before} canary hits`);
  });
});
