import { isIP } from "node:net";

/**
 * Where a tool may send requests: an origin, alone or with ranges of addresses that are not public. An origin
 * is written `https://api.example.com`, with a port unless it is the default port of the scheme. `*.` before
 * a host matches all its subdomains, `*` as the host matches every host, and `*` as the port every port.
 */
export type NetGrant =
  | string
  | {
      readonly origin: string;
      /**
       * CIDR ranges, such as `10.1.0.0/16` or `127.0.0.1/32`. Default: none, which permits only public
       * addresses.
       */
      readonly addresses?: readonly string[];
    };

/** The syntax of an origin, as a `pattern` of JSON Schema. */
export const ORIGIN_PATTERN: string = String.raw`^https?://(\*|(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:(\*|[0-9]{1,5}))?$`;

/**
 * The syntax of a CIDR range, as a `pattern` of JSON Schema. It also matches some texts that are not valid
 * ranges.
 */
export const CIDR_PATTERN = "^([0-9]{1,3}(\\.[0-9]{1,3}){3}/[0-9]{1,2}|[0-9a-f:.]*:[0-9a-f:.]*/[0-9]{1,3})$";

const ORIGIN = new RegExp(ORIGIN_PATTERN);
const CIDR = new RegExp(CIDR_PATTERN);

/** The parsed origin of a grant, which requests are compared with. */
export interface OriginPattern {
  readonly scheme: "http" | "https";
  /** `*`, `*.example.com`, or a single host. */
  readonly host: string;
  /** Default: the default port of the scheme. */
  readonly port: number | "*";
}

/**
 * Parses the origin of a grant.
 *
 * @throws {TypeError} if it is not a valid origin.
 */
export function parseOrigin(origin: string): OriginPattern {
  if (!ORIGIN.test(origin)) {
    throw new TypeError(`'${origin}' must be an origin in lower case, such as https://api.example.com`);
  }
  const scheme = origin.startsWith("https:") ? "https" : "http";
  const authority = origin.slice(scheme.length + 3);
  const colon = authority.lastIndexOf(":");
  const hasPort = colon > authority.lastIndexOf("]");
  const host = hasPort ? authority.slice(0, colon) : authority;
  const written = hasPort ? authority.slice(colon + 1) : undefined;
  const port = written === "*" ? "*" : Number(written ?? ownPort(scheme));
  if (port !== "*" && (port < 1 || port > 65_535)) {
    throw new TypeError(`'${origin}' must have a port from 1 to 65535`);
  }
  return { scheme, host, port };
}

function ownPort(scheme: OriginPattern["scheme"]): number {
  return scheme === "https" ? 443 : 80;
}

/**
 * Whether `outer` matches every origin that `inner` matches. The origin of a URL is a pattern without
 * wildcards.
 */
export function isWithinOrigin(inner: OriginPattern, outer: OriginPattern): boolean {
  return (
    inner.scheme === outer.scheme &&
    (outer.port === "*" || inner.port === outer.port) &&
    isWithinHost(inner.host, outer.host)
  );
}

function isWithinHost(inner: string, outer: string): boolean {
  if (inner === outer || outer === "*") return true;
  return outer.startsWith("*.") && inner.endsWith(outer.slice(1)) && inner.length >= outer.length;
}

/**
 * Checks a grant, and returns a frozen copy of it.
 *
 * @throws {TypeError} unless it has a valid origin and valid CIDR ranges.
 */
export function checkNetGrant(grant: unknown): NetGrant {
  if (typeof grant === "string") {
    parseOrigin(grant);
    return grant;
  }
  const { origin, addresses = [], ...others } = (grant ?? {}) as Exclude<NetGrant, string>;
  if (typeof origin !== "string" || Object.keys(others).length > 0 || !Array.isArray(addresses)) {
    throw new TypeError("capability 'net' must be a list of origins, or of { origin, addresses }");
  }
  parseOrigin(origin);
  for (const range of addresses) {
    if (!isRange(range)) {
      throw new TypeError(
        `capability 'net' must have CIDR ranges such as 10.0.0.0/8 as addresses, not '${range}'`,
      );
    }
  }
  return Object.freeze({ origin, addresses: Object.freeze([...addresses]) });
}

/**
 * Whether it is a valid address with a prefix length that its version allows (RFC 4632, RFC 4291 section
 * 2.3).
 */
function isRange(range: unknown): range is string {
  if (typeof range !== "string" || !CIDR.test(range)) return false;
  const [address = "", prefix] = range.split("/");
  const version = isIP(address);
  return version !== 0 && Number(prefix) <= (version === 4 ? 32 : 128);
}

/** Returns what both sets grant: the origins that both match, with the address ranges that both have. */
export function commonNetGrants(a: readonly NetGrant[], b: readonly NetGrant[]): readonly NetGrant[] {
  const common = new Map<string, NetGrant>();
  for (const one of a) {
    for (const other of b) {
      const origin = commonOrigin(originOf(one), originOf(other));
      if (origin === undefined) continue;
      const ranges = new Set(addressesOf(other));
      const addresses = addressesOf(one).filter((range) => ranges.has(range));
      const grant = addresses.length === 0 ? origin : { origin, addresses };
      common.set(JSON.stringify(grant), grant);
    }
  }
  return [...common.values()];
}

/** Returns the origin of a grant as it is written. */
export function originOf(grant: NetGrant): string {
  return typeof grant === "string" ? grant : grant.origin;
}

/** Returns the address ranges of a grant. */
export function addressesOf(grant: NetGrant): readonly string[] {
  return typeof grant === "string" ? [] : (grant.addresses ?? []);
}

/** The origins that both patterns match, as a pattern. The host can come from one of them and the port from the other. */
function commonOrigin(a: string, b: string): string | undefined {
  const [one, other] = [parseOrigin(a), parseOrigin(b)];
  if (isWithinOrigin(one, other)) return a;
  if (isWithinOrigin(other, one)) return b;
  const host = isWithinHost(one.host, other.host) ? one.host : other.host;
  const port = one.port === "*" ? other.port : one.port;
  const both = { scheme: one.scheme, host, port };
  if (!isWithinOrigin(both, one) || !isWithinOrigin(both, other)) return undefined;
  return `${one.scheme}://${host}${port === ownPort(one.scheme) ? "" : `:${port}`}`;
}
