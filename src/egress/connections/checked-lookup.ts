import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { EgressError } from "../egress-error.ts";
import type { OriginRule } from "../net-rules.ts";
import { AddressRules } from "./address-rules.ts";

/** Resolves a host name to all its addresses. Rejects if it has none. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** Uses the system's resolver: the hosts file, then DNS. */
export const systemResolve: ResolveHost = async (hostname) => {
  const answers = await lookup(hostname, { all: true });
  return answers.map(({ address }) => address);
};

/**
 * Returns the lookup for connections under a rule.
 *
 * @throws {EgressError} if the host is an address that may not be contacted: Node.js does not call the lookup for it.
 */
export function lookupFor({ origin, addresses }: OriginRule, resolve: ResolveHost): LookupFunction {
  const rules = new AddressRules(addresses);
  const { hostname } = new URL(origin);
  const literal = withoutBrackets(hostname);
  if (isIP(literal) !== 0) checkAddress(hostname, literal, rules);
  return checkedLookup(rules, resolve);
}

/** Returns the host of a URL as sockets take it: an IPv6 address without brackets. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/**
 * A lookup for `net.connect` that returns checked addresses only. Node.js connects to the addresses that its lookup
 * returns and does not resolve the name again, so only checked addresses are contacted. If one of several addresses
 * is denied, all are: the owner of the name chose it. Connections that open at the same time share one result, which
 * is not cached.
 */
function checkedLookup(rules: AddressRules, resolve: ResolveHost): LookupFunction {
  let pending: Promise<LookupAddress[]> | undefined;
  return (hostname, options, callback) => {
    pending ??= resolveChecked(hostname, rules, resolve).finally(() => {
      pending = undefined;
    });
    pending.then(
      (addresses) => {
        const [first] = addresses;
        if (options.all) callback(null, addresses);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

async function resolveChecked(
  hostname: string,
  rules: AddressRules,
  resolve: ResolveHost,
): Promise<LookupAddress[]> {
  let addresses: readonly string[];
  try {
    addresses = await resolve(hostname);
  } catch (error) {
    throw new EgressError("name_not_resolved", `'${hostname}' cannot be resolved`, undefined, error);
  }
  if (addresses.length === 0) throw new EgressError("name_not_resolved", `'${hostname}' has no address`);
  for (const address of addresses) checkAddress(hostname, address, rules);
  return addresses.map((address) => ({ address, family: isIP(address) }));
}

/** @throws {EgressError} if a host's address may not be contacted. */
function checkAddress(host: string, address: string, rules: AddressRules): void {
  if (rules.allows(address)) return;
  throw new EgressError(
    "address_denied",
    `'${host}' has the address ${JSON.stringify(address)}, which is not public: the grant must name its range ` +
      `(net: [{ origin, addresses: [CIDR] }])`,
  );
}
