import { LruMap } from "../base/lru-map.ts";
import {
  addressesOf,
  isWithinOrigin,
  type NetGrant,
  type OriginPattern,
  originOf,
  parseOrigin,
} from "../policy/grant/net-grant.ts";
import { EgressError } from "./egress-error.ts";

/** What a list of grants allows for one origin. */
export interface OriginRule {
  /** The origin, as in `URL.origin`. */
  readonly origin: string;
  /** The address ranges that are allowed in addition to public addresses. */
  readonly addresses: readonly string[];
  /** Equal for two rules if, and only if, they allow the same connections. */
  readonly key: string;
}

/** How many origins' rules are cached for a list of grants, which can allow any number of origins by wildcards. */
const MAX_CACHED = 256;

const compiled = new WeakMap<readonly NetGrant[], NetRules>();

/** Returns the rules of a list of grants, parsed once for each list. */
export function netRulesOf(grants: readonly NetGrant[]): NetRules {
  let rules = compiled.get(grants);
  if (rules === undefined) {
    rules = new NetRules(grants);
    compiled.set(grants, rules);
  }
  return rules;
}

/** The error of a request to an origin for which there is no rule. */
export function originDenied({ origin }: URL): EgressError {
  return new EgressError("origin_denied", `the grant does not name the origin '${origin}' (net: [origin])`);
}

/** The origins that a list of grants allows. */
class NetRules {
  readonly #grants: readonly { readonly pattern: OriginPattern; readonly addresses: readonly string[] }[];
  /** `null` for an origin that the grants do not allow. */
  readonly #cached = new LruMap<string, OriginRule | null>(MAX_CACHED);

  constructor(grants: readonly NetGrant[]) {
    this.#grants = grants.map((grant) => ({
      pattern: parseOrigin(originOf(grant)),
      addresses: addressesOf(grant),
    }));
  }

  /** Returns the rule for a URL's origin, or `undefined` if the grants do not allow it. */
  ruleFor(url: URL): OriginRule | undefined {
    const { origin } = url;
    const known = this.#cached.get(origin);
    if (known !== undefined) return known ?? undefined;
    const rule = this.#find(url);
    this.#cached.set(origin, rule ?? null);
    return rule;
  }

  #find({ origin, protocol, hostname, port }: URL): OriginRule | undefined {
    if (protocol !== "http:" && protocol !== "https:") return undefined;
    const scheme = protocol === "https:" ? "https" : "http";
    const own = scheme === "https" ? 443 : 80;
    const requested: OriginPattern = { scheme, host: hostname, port: port === "" ? own : Number(port) };
    // Port 0 cannot be connected to: for sockets, it means any port.
    const matching = this.#grants.filter(
      ({ pattern }) => requested.port !== 0 && isWithinOrigin(requested, pattern),
    );
    if (matching.length === 0) return undefined;
    const addresses = [...new Set(matching.flatMap((grant) => grant.addresses))].sort();
    return { origin, addresses, key: `${origin} ${addresses.join(" ")}` };
  }
}
