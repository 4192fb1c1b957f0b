import type { ConfigPath } from "../../config/source.ts";
import { equalJson } from "../../json/equal.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { isWithinOrigin, type OriginPattern, parseOrigin } from "../grant/net-grant.ts";
import { type PolicyRule, usedBy } from "../rule/rule.ts";

/** A part of a rule without which it is the same. */
export interface SuperfluousPart {
  readonly path: ConfigPath;
  readonly message: string;
}

/** Members with values of calls, whose lists may have anything. */
const VALUES: ReadonlySet<string> = new Set(["equals", "examples"]);

/** Finds parts of a rule that change nothing, whatever tools there are. */
export function superfluousParts(rule: PolicyRule): readonly SuperfluousPart[] {
  return [
    ...repeatedItems(rule as unknown as JsonValue, []),
    ...(rule.when === undefined ? [] : emptyConditions(rule.when as unknown as JsonValue, ["when"])),
    ...emptyCapabilities(rule),
    ...coveredOrigins(rule),
  ];
}

/** Finds items of lists in a value that an earlier item equals. */
export function repeatedItems(value: JsonValue, path: ConfigPath): readonly SuperfluousPart[] {
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    const known = new Set<JsonValue>();
    return items.flatMap((item, index) => {
      const isScalar = typeof item !== "object";
      const isRepeated = isScalar
        ? known.has(item)
        : items.slice(0, index).some((earlier) => equalJson(earlier, item));
      known.add(item);
      if (isRepeated) return [{ path: [...path, index], message: "the same stands before: remove this" }];
      return path.at(-1) === "oneOf" ? [] : repeatedItems(item, [...path, index]);
    });
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    VALUES.has(name) || member === undefined ? [] : repeatedItems(member, [...path, name]),
  );
}

function emptyConditions(when: JsonValue, path: ConfigPath): readonly SuperfluousPart[] {
  if (!isJsonObject(when)) return [];
  if (Object.keys(when).length === 0) {
    const message = "no condition is here, which every call meets: add one, or remove this";
    return [{ path, message }];
  }
  return ["all", "any"].flatMap((member) => {
    const parts = when[member];
    if (!Array.isArray(parts)) return [];
    return parts.flatMap((part: JsonValue, index) => emptyConditions(part, [...path, member, index]));
  });
}

function emptyCapabilities(rule: PolicyRule): readonly SuperfluousPart[] {
  return Object.entries(usedBy(rule)?.capabilities ?? {}).flatMap(([name, granted]) => {
    if (!Array.isArray(granted) || granted.length > 0) return [];
    const message = "this grants nothing, as a rule without it does: remove it, or list what is granted";
    return [{ path: ["capabilities", name], message }];
  });
}

function coveredOrigins(rule: PolicyRule): readonly SuperfluousPart[] {
  const origins = (usedBy(rule)?.capabilities?.net ?? []).map((grant) =>
    typeof grant === "string" ? parsed(grant) : undefined,
  );
  return origins.flatMap((each, index) => {
    const other = origins.find(
      (one) =>
        one !== undefined &&
        each !== undefined &&
        one.grant !== each.grant &&
        isWithinOrigin(each.origin, one.origin),
    );
    if (other === undefined) return [];
    const message = `'${other.grant}' grants this, too: remove one of them`;
    return [{ path: ["capabilities", "net", index], message }];
  });
}

/** Returns `undefined` for an origin that is not valid, which is reported as such. */
function parsed(grant: string): { readonly grant: string; readonly origin: OriginPattern } | undefined {
  try {
    return { grant, origin: parseOrigin(grant) };
  } catch {
    return undefined;
  }
}
