import { formatDuration } from "../../../base/units.ts";
import type { ConfigPath } from "../../../config/source.ts";
import type { Tool } from "../../../engine/tool.ts";
import { WRITTEN_NAMES } from "../../../policy/file/written-limits.ts";
import type { CapabilityName } from "../../../policy/grant/capabilities.ts";
import { isOriginTemplate } from "../../../policy/grant/grant-template.ts";
import type { LimitName } from "../../../policy/grant/limits.ts";
import { isWithinOrigin, originOf, parseOrigin } from "../../../policy/grant/net-grant.ts";
import type { Sandbox } from "../../../sandboxes/contract/sandbox.ts";
import { remoteNeeds } from "../../../tool/checks/remote-needs.ts";
import { workspaceIsSupported } from "../../../workspace/paths/fd-path.ts";
import { whyElsewhere, whyMissing, whyNotShown, whyUnreachable } from "../../config/grants-without-effect.ts";
import type { LocatedGrant } from "./located-grants.ts";

/** Why calls of a tool fail under a grant. */
export interface GrantFlaw {
  /** The path from the rule to the part that is wrong, or where one is missing. */
  readonly path: ConfigPath;
  readonly message: string;
  /** Whether calls run, and a part of the grant is of no use to them. Default: they fail. */
  readonly isUseless?: true;
  /** Whether this is a flaw only if all tools of the rule have it: others may use the part. Default: each has it alone. */
  readonly isOfAll?: true;
}

/** @param sandbox `undefined` if it is not open, so that nothing can be said about it. */
export function grantFlaws(
  located: LocatedGrant,
  tool: Tool,
  sandbox: Sandbox | undefined,
): readonly GrantFlaw[] {
  // The policy's own checks report a rule that lists none of the tool's sandboxes.
  const { sandboxes } = located.use;
  if (located.sandbox === undefined && sandboxes.some((mode) => tool[mode] !== undefined)) {
    const message = "this rule has no sandbox in common with the other rules that apply to the same calls";
    return [{ path: ["sandboxes"], message }];
  }
  if (sandbox === undefined) return [];
  return [
    ...isolationFlaws(located, sandbox),
    ...limitFlaws(located, tool, sandbox),
    ...capabilityFlaws(located, tool, sandbox),
    ...(sandbox.mode === "remote" ? needFlaws(located, tool) : []),
    ...placeFlaws(located, sandbox),
    ...missingFlaws(located, sandbox),
    ...originFlaws(located, sandbox),
  ];
}

function isolationFlaws({ use }: LocatedGrant, { isolation }: Sandbox): readonly GrantFlaw[] {
  if (use.isolation === undefined || use.isolation === isolation) return [];
  const message = `the isolation '${use.isolation}' is not available on this machine`;
  return [{ path: ["isolation"], message }];
}

function limitFlaws({ use, limits }: LocatedGrant, tool: Tool, sandbox: Sandbox): readonly GrantFlaw[] {
  return Object.entries(use.limits ?? {}).flatMap(([key, value]) => {
    const name = key as LimitName;
    const { timeoutMs } = tool;
    if (name === "wallTimeMs" && timeoutMs !== undefined && timeoutMs < value) {
      const own = formatDuration(timeoutMs);
      const message = `has no effect, as the tool's own 'timeout' is ${own}: write less, or raise that`;
      return [{ path: ["limits", "wallTime"], message, isUseless: true }];
    }
    // Another rule has a lower one, and is reported instead.
    if (value !== limits[name] || sandbox.unenforceable({ [name]: value }, tool) === undefined) return [];
    const message = `the '${sandbox.mode}' sandbox cannot enforce this limit`;
    return [{ path: ["limits", WRITTEN_NAMES[name]], message }];
  });
}

function capabilityFlaws(
  { use, capabilities }: LocatedGrant,
  tool: Tool,
  sandbox: Sandbox,
): readonly GrantFlaw[] {
  const given = sandbox.capabilitiesFor?.(tool) ?? sandbox.capabilities;
  return Object.keys(capabilities).flatMap((key) => {
    const name = key as CapabilityName;
    const own = use.capabilities?.[name];
    if (given.has(name) || own === undefined || own === false) return [];
    // No entries grant nothing.
    if (Array.isArray(own) && own.length === 0) return [];
    const message = remedyOf(name, sandbox) ?? `the '${sandbox.mode}' sandbox cannot give this capability`;
    return [{ path: ["capabilities", name], message }];
  });
}

/** Returns why a sandbox that could give a capability does not, and what to do. */
function remedyOf(name: CapabilityName, { mode, isolation }: Sandbox): string | undefined {
  if (name === "net" && isolation === "landlock") {
    return "programs on Landlock have no network: 'net' needs namespaces, which are not available here";
  }
  if (name === "keyValue" && mode === "wasm") {
    return "there are no key-value stores: add 'keyValue' to 'sandboxes'";
  }
  if (name === "fs" && mode === "host" && workspaceIsSupported()) {
    return "the 'host' sandbox gives files only to tools that declare 'usesFiles: true'";
  }
  return undefined;
}

/** An HTTP tool needs its origin and its secrets. */
function needFlaws({ use, capabilities }: LocatedGrant, { remote }: Tool): readonly GrantFlaw[] {
  const needs = remoteNeeds(remote);
  if (needs === undefined) return [];
  const flaws: GrantFlaw[] = [];
  const origin = parseOrigin(needs.origin);
  const grants = capabilities.net ?? [];
  if (!grants.some((grant) => isWithinOrigin(origin, parseOrigin(originOf(grant))))) {
    const message = `the tool needs 'net: ["${needs.origin}"]', which the matching rules do not all grant`;
    flaws.push({ path: ["capabilities", "net"], message });
  }
  for (const [index, grant] of (use.capabilities?.net ?? []).entries()) {
    if (isOriginTemplate(grant) || isWithinOrigin(origin, parseOrigin(originOf(grant)))) continue;
    const message = "has no effect, as no tool of this rule sends requests there: remove it";
    flaws.push({ path: ["capabilities", "net", index], message, isUseless: true, isOfAll: true });
  }
  const own = use.capabilities?.secrets ?? [];
  for (const [index, name] of own.entries()) {
    if (needs.secrets.includes(name)) continue;
    const message = "has no effect, as no tool of this rule sends this secret: remove it";
    flaws.push({ path: ["capabilities", "secrets", index], message, isUseless: true, isOfAll: true });
  }
  for (const name of needs.secrets) {
    if (!capabilities.secrets?.includes(name)) {
      const message = `the tool needs 'secrets: [${name}]', which the matching rules do not all grant`;
      flaws.push({ path: ["capabilities", "secrets"], message });
    } else if (own.includes(name) && (process.env[name] ?? "") === "") {
      const message = "there is no such secret: the environment variable is not set";
      flaws.push({ path: ["capabilities", "secrets", own.indexOf(name)], message });
    }
  }
  return flaws;
}

/** Files, directories and variables that are not there. */
function missingFlaws({ use }: LocatedGrant, { mode }: Sandbox): readonly GrantFlaw[] {
  const { fs = [], env = [] } = use.capabilities ?? {};
  return [
    ...fs.flatMap((grant, index): readonly GrantFlaw[] => {
      const message = whyMissing(grant);
      return message === undefined ? [] : [{ path: ["capabilities", "fs", index], message, isUseless: true }];
    }),
    ...env.flatMap((name, index): readonly GrantFlaw[] => {
      if (mode !== "process" || process.env[name] !== undefined) return [];
      const message =
        "the variable is not set where this runs, so that programs do not get it: set it, or remove this";
      return [{ path: ["capabilities", "env", index], message, isUseless: true }];
    }),
  ];
}

/** Files and directories that a program does not see where it looks for them. */
function placeFlaws({ use }: LocatedGrant, { mode, isolation }: Sandbox): readonly GrantFlaw[] {
  if (mode !== "process") return [];
  return (use.capabilities?.fs ?? []).flatMap((grant, index): readonly GrantFlaw[] => {
    const path = ["capabilities", "fs", index];
    const message = whyNotShown(grant);
    if (message !== undefined) return [{ path: [...path, "at"], message }];
    // On Landlock, a program uses everything at its own path.
    const elsewhere = isolation === "namespaces" ? whyElsewhere(grant) : undefined;
    return elsewhere === undefined ? [] : [{ path, message: elsewhere, isUseless: true }];
  });
}

/** Origins that no request can reach. */
function originFlaws({ use }: LocatedGrant, { mode, capabilities }: Sandbox): readonly GrantFlaw[] {
  if (!capabilities.has("net")) return [];
  return (use.capabilities?.net ?? []).flatMap((grant, index): readonly GrantFlaw[] => {
    if (isOriginTemplate(grant)) return [];
    const message = whyUnreachable(grant, mode === "process");
    return message === undefined ? [] : [{ path: ["capabilities", "net", index], message, isUseless: true }];
  });
}
