import { lookUpAll, parsePointer } from "../../json/pointer.ts";
import type { ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import { isWithinOrigin, type OriginPattern, originOf, parseOrigin } from "../../policy/grant/net-grant.ts";
import type { PolicyRequest } from "../../policy/policy.ts";
import type { ToolTraits } from "../../tool/tool-traits.ts";

/**
 * Whether the policy names where a call that only reads may send requests: the URLs in its arguments are of origins of the
 * grant, none of which has `*` as its host. Such a tool asks with `confirm: prompt` since an address that the model chooses
 * is a way out for data; one that the policy names is not. Redirects cannot lead anywhere else, either.
 */
export function namesUrls(
  { urls = [] }: ToolTraits,
  { tool, input }: PolicyRequest,
  grant: ExecutionGrant | undefined,
): boolean {
  const net = grant?.capabilities.net ?? [];
  if (urls.length === 0 || net.length === 0 || tool.sideEffects !== "read") return false;
  const named = net.map((each) => parseOrigin(originOf(each)));
  if (named.some(({ host }) => host === "*")) return false;
  const found = urls.flatMap(({ argument }) => lookUpAll(input, parsePointer(argument)));
  const isNamed = (url: unknown): boolean => {
    const origin = originOfUrl(url);
    return origin !== undefined && named.some((each) => isWithinOrigin(origin, each));
  };
  return found.length > 0 && found.every(({ value }) => isNamed(value));
}

function originOfUrl(url: unknown): OriginPattern | undefined {
  const parsed = typeof url === "string" ? URL.parse(url) : null;
  try {
    return parsed === null ? undefined : parseOrigin(parsed.origin);
  } catch {
    return undefined;
  }
}
