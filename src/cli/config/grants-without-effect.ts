import { statSync } from "node:fs";
import { isIP } from "node:net";
import { basename } from "node:path";
import { AddressRules } from "../../egress/checked-lookup.ts";
import { addressesOf, type NetGrant, originOf, parseOrigin } from "../../policy/grant/net-grant.ts";
import { OWN_LOOPBACK, takenPlace } from "../../sandboxes/process/reserved.ts";

/**
 * Says why no request can use a grant, and what to write in its place; `undefined` if some may.
 *
 * @param isProgram Whether it is a program's, which reaches its own loopback without the grant.
 */
export function whyUnreachable(grant: NetGrant, isProgram: boolean): string | undefined {
  const origin = originOf(grant);
  const { scheme, host, port } = parseOrigin(origin);
  if (host.includes("*")) return undefined;
  const canonical = URL.parse(`${scheme}://${host}`)?.hostname;
  if (canonical === undefined) return `no URL has the origin '${origin}': its host is not valid`;
  const bare = canonical.replace(/^\[(.*)\]$/, "$1");
  const isLocal = bare === "localhost" || bare.endsWith(".localhost");
  if (isProgram && (isLocal || OWN_LOOPBACK.includes(bare)))
    return (
      `'${host}' is the program itself, which reaches it without a grant and nothing else by it: remove the grant, ` +
      `or write an address of this machine, such as { origin: "${scheme}://192.168.1.10:${port}", addresses: [192.168.1.10/32] }`
    );
  if (canonical !== host)
    return `no URL has the origin '${origin}', as the host is '${canonical}' in every URL: write '${origin.replace(host, canonical)}'`;
  const addresses = isLocal ? ["127.0.0.1", "::1"] : isIP(bare) === 0 ? [] : [bare];
  const rules = new AddressRules(addressesOf(grant));
  if (addresses.length === 0 || addresses.some((address) => rules.allows(address))) return undefined;
  const ranges = addresses.map((address) => `"${address}/${isIP(address) === 4 ? 32 : 128}"`).join(", ");
  return `'${host}' is not a public address, and requests to it are refused: write { origin: "${origin}", addresses: [${ranges}] }`;
}

/** What a grant says of the place of a file or directory. */
interface ShownPlace {
  readonly directory?: unknown;
  readonly file?: unknown;
  readonly at?: string;
  readonly write?: boolean;
}

/** Says why a program cannot be shown something where a grant shows it; `undefined` if it can. */
export function whyNotShown({ at }: ShownPlace): string | undefined {
  const taken = at === undefined ? undefined : takenPlace(at);
  if (taken === undefined) return undefined;
  return `nothing can be shown at '${at}', as ${taken} has files of the sandbox: write another place, such as 'at: /granted/${basename(String(at))}'`;
}

/** Says where else a program sees what is granted in a directory of the system; `undefined` if the grant says where. */
export function whyElsewhere({ directory, file, at, write }: ShownPlace): string | undefined {
  const source = directory ?? file;
  if (at !== undefined || typeof source !== "string") return undefined;
  const taken = takenPlace(source);
  if (taken === undefined) return undefined;
  if (!["/dev", "/etc", "/proc", "/sys"].includes(taken)) {
    if (write) return undefined;
    return `programs see ${taken} without a grant: remove this one, or write as 'at' where they see '${source}' besides`;
  }
  const seen = directory === undefined ? `/${basename(source)}` : "/workspace";
  return (
    `a program sees this at '${seen}', and not at '${source}', as ${taken} has files of the sandbox: ` +
    `write the place that it uses, such as 'at: /granted/${basename(source)}'`
  );
}

/** Says that a granted directory, or a file that can only be read, is not there; `undefined` if it is, or the call names it. */
export function whyMissing({
  directory,
  file,
  within,
  write,
}: ShownPlace & { readonly within?: string }): string | undefined {
  const [place, isFolder] =
    typeof file === "string" ? ([file, false] as const) : ([directory ?? within, true] as const);
  if (typeof place !== "string") return undefined;
  const found = statSync(place, { throwIfNoEntry: false });
  if (found === undefined)
    return write === true && !isFolder
      ? undefined
      : `there is no '${place}', so that this grants nothing until it exists`;
  if (found.isDirectory() === isFolder) return undefined;
  return isFolder
    ? `'${place}' is a file: write 'file' in place of 'directory'`
    : `'${place}' is a directory: write 'directory' in place of 'file'`;
}
