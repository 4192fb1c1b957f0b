import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath, ConfigSource } from "../../../config/source.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import type { LocatedPolicy } from "../../../policy/file/located-policy.ts";
import { usedBy } from "../../../policy/rule/rule.ts";
import { Guard } from "../../../workspace/guard/guard.ts";
import { absolutePathBeside } from "../../config/config-path.ts";

/** How many files a problem names. */
const MAX_NAMED = 5;

/** Finds grants that cover files of Sandgate itself, which they do not give: see `guardFiles`. */
export function checkGuarded(
  source: ConfigSource,
  policies: readonly LocatedPolicy[],
): readonly ConfigProblem[] {
  const guard = Guard.current();
  if (guard === undefined) return [];
  return [
    ...policies.flatMap((policy) => {
      const { default: byDefault } = policy;
      const uses = [
        ...policy.rules.map((rule, index) => ({ path: ["rules", index] as ConfigPath, use: usedBy(rule) })),
        { path: ["default"] as ConfigPath, use: byDefault === "deny" ? undefined : byDefault },
      ];
      return uses.flatMap(({ path, use }) =>
        (use?.capabilities?.fs ?? []).flatMap((grant, index) => {
          const message = messageFor(guard, placeOf(grant), "write" in grant && grant.write === true);
          if (message === undefined) return [];
          return [policy.problem([...path, "capabilities", "fs", index], message, "warning")];
        }),
      );
    }),
    ...grantsInConfig(source).flatMap(({ path, place, isWritable }) => {
      const message = messageFor(guard, absolutePathBeside(source.file, place), isWritable);
      return message === undefined ? [] : [source.problem(path, message, "warning")];
    }),
  ];
}

/** The grants of agents and of MCP servers. */
function grantsInConfig(
  source: ConfigSource,
): readonly { readonly path: ConfigPath; readonly place: string; readonly isWritable: boolean }[] {
  return [["agents"], ["mcp", "servers"]].flatMap((section) => {
    const entries = source.at(section);
    if (!isJsonObject(entries)) return [];
    return Object.entries(entries).flatMap(([name, entry]) => {
      const fs = isJsonObject(entry) ? entry["fs"] : undefined;
      if (!Array.isArray(fs)) return [];
      return fs.flatMap((grant: JsonValue, index) => {
        if (!isJsonObject(grant)) return [];
        const place = grant["directory"] ?? grant["file"] ?? grant["path"];
        const isWritable = grant["write"] === true || grant["mode"] === "write";
        return typeof place === "string"
          ? [{ path: [...section, name, "fs", index], place, isWritable }]
          : [];
      });
    });
  });
}

function placeOf(grant: object): string | undefined {
  const { directory, file, within } = grant as Partial<Record<string, unknown>>;
  const place = directory ?? (typeof file === "string" ? file : within);
  return typeof place === "string" ? place : undefined;
}

function messageFor(guard: Guard, place: string | undefined, isWritable: boolean): string | undefined {
  if (place === undefined) return undefined;
  const found = guard.placesIn(place).filter(({ access }) => isWritable || access === "none");
  const named = [...new Set(found.map((each) => each.named))];
  if (named.length === 0) return undefined;
  const hidden = found.some(({ access }) => access === "none") ? " or reads" : "";
  const some = named
    .slice(0, MAX_NAMED)
    .map((path) => `'${path}'`)
    .join(", ");
  const more = named.length > MAX_NAMED ? ` and ${named.length - MAX_NAMED} more` : "";
  return `this grant covers files of Sandgate itself, which no tool changes${hidden}: ${some}${more}. Grant a directory without them`;
}
