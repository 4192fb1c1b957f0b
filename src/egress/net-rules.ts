import {
  addressesOf,
  isWithinOrigin,
  type NetGrant,
  type OriginPattern,
  originOf,
  parseOrigin,
} from "../policy/grant/net-grant.ts";

/** What a grant says of one origin. */
export interface OriginRule {
  /** The origin, as URLs have it. */
  readonly origin: string;
  /** The ranges of addresses that it may have beyond the public ones. */
  readonly addresses: readonly string[];
  /** The same for two rules exactly if they allow the same connections. */
  readonly key: string;
}

/** Origins of which the rule is kept; a grant with wildcards has no end of them. */
const MAX_KEPT = 256;

const compiled = new WeakMap<readonly NetGrant[], NetRules>();

/** A grant's rules, taken apart once for each list of grants. */
export function netRulesOf(grants: readonly NetGrant[]): NetRules {
  let rules = compiled.get(grants);
  if (rules === undefined) {
    rules = new NetRules(grants);
    compiled.set(grants, rules);
  }
  return rules;
}

/** The origins that a list of grants gives. */
class NetRules {
  readonly #grants: readonly { readonly pattern: OriginPattern; readonly addresses: readonly string[] }[];
  readonly #kept = new Map<string, OriginRule | undefined>();

  constructor(grants: readonly NetGrant[]) {
    this.#grants = grants.map((grant) => ({
      pattern: parseOrigin(originOf(grant)),
      addresses: addressesOf(grant),
    }));
  }

  /** The rule for a URL's origin; `undefined` where the grants do not give it. */
  ruleFor(url: URL): OriginRule | undefined {
    const { origin } = url;
    if (this.#kept.has(origin)) return this.#kept.get(origin);
    const rule = this.#find(url);
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(origin, rule);
    return rule;
  }

  #find({ origin, protocol, hostname, port }: URL): OriginRule | undefined {
    if (protocol !== "http:" && protocol !== "https:") return undefined;
    const scheme = protocol === "https:" ? "https" : "http";
    const own = scheme === "https" ? 443 : 80;
    const asked: OriginPattern = { scheme, host: hostname, port: port === "" ? own : Number(port) };
    // Port 0 is no port: it stands for any one where sockets are made.
    const matching = this.#grants.filter(({ pattern }) => asked.port !== 0 && isWithinOrigin(asked, pattern));
    if (matching.length === 0) return undefined;
    const addresses = [...new Set(matching.flatMap((grant) => grant.addresses))].sort();
    return { origin, addresses, key: `${origin} ${addresses.join(" ")}` };
  }
}
