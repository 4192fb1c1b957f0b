import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigPath, ConfigSource } from "../../../config/source.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import type { LocatedPolicy } from "../../../policy/file/checked-rule.ts";
import { usedBy } from "../../../policy/rule/rule.ts";
import { absolutePath } from "../../../sessions/trusted-workspaces.ts";
import { Guard, type GuardedPlace } from "../../../workspace/guard.ts";
import { absolutePathBeside } from "../../config/guard-code.ts";

/** Maximum number of files named in a problem. */
const MAX_NAMED = 5;

/**
 * Finds grants that cover Sandgate's own files, to which they give no access: see `guardFiles`.
 *
 * @param workspaces The folders in which sessions can have their workspaces.
 */
export function checkGuarded(
  source: ConfigSource,
  policies: readonly LocatedPolicy[],
  workspaces: readonly string[],
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
          const found = placesOf(grant, workspaces).flatMap((place) => placesIn(guard, place));
          const message = messageFor(found, "write" in grant && grant.write === true);
          if (message === undefined) return [];
          return [policy.problem([...path, "capabilities", "fs", index], message, "warning")];
        }),
      );
    }),
    ...grantsInConfig(source).flatMap(({ path, place, isWritable }) => {
      const found = guard.placesIn(absolutePathBeside(source.file, place));
      const message = messageFor(found, isWritable);
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
        const isWritable = grant["write"] === true || grant["mode"] === "rw";
        return typeof place === "string"
          ? [{ path: [...section, name, "fs", index], place, isWritable }]
          : [];
      });
    });
  });
}

/**
 * A place that a policy grants: `path`, or `below` in a session's workspace, which is any folder in `path`.
 */
interface GrantedPlace {
  readonly path: string;
  readonly below?: string;
}

function placesOf(grant: object, workspaces: readonly string[]): readonly GrantedPlace[] {
  const { directory, file, within, workspace } = grant as Partial<Record<string, unknown>>;
  if (workspace !== undefined)
    return workspaces.map((path) => ({
      path: absolutePath(path, "a workspace"),
      ...(typeof workspace === "string" && { below: workspace }),
    }));
  const place = directory ?? (typeof file === "string" ? file : within);
  return typeof place === "string" ? [{ path: place }] : [];
}

function placesIn(guard: Guard, { path, below }: GrantedPlace): readonly GuardedPlace[] {
  const found = guard.placesIn(path);
  // A session's workspace can be any folder in it.
  return below === undefined ? found : found.filter((place) => `${place.path}/`.includes(`/${below}/`));
}

function messageFor(covered: readonly GuardedPlace[], isWritable: boolean): string | undefined {
  const found = covered.filter(({ access }) => isWritable || access === "none");
  const named = [...new Set(found.map((each) => each.named))];
  if (named.length === 0) return undefined;
  const hidden = found.some(({ access }) => access === "none") ? " or read" : "";
  const some = named
    .slice(0, MAX_NAMED)
    .map((path) => `'${path}'`)
    .join(", ");
  const more = named.length > MAX_NAMED ? ` and ${named.length - MAX_NAMED} more` : "";
  return `this grant covers Sandgate's own files, which no tool can change${hidden}: ${some}${more}. Grant a directory without them`;
}
