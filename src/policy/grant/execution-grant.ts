import { join } from "node:path";
import { canonicalText } from "../../json/canonical.ts";
import { lookUp, POINTER_PATTERN, parsePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import { isSandboxMode, type SandboxMode } from "../../tool/sandbox-mode.ts";
import { isAmbiguous } from "../match/ambiguous-text.ts";
import { type Capabilities, checkCapabilities, commonCapabilities } from "./capabilities.ts";
import { anyFileOf, type FileTemplate, fileFor, isFileTemplate, TemplateRefusal } from "./file-template.ts";
import {
  checkAt,
  checkHostPath,
  checkWrite,
  type DirectoryGrant,
  type FsGrant,
  type WritesProtected,
} from "./fs-grant.ts";
import { checkLimits, LIMIT_NAMES, type ResourceLimits } from "./limits.ts";
import { checkNetGrant, isWithinOrigin, type NetGrant, parseOrigin } from "./net-grant.ts";

/** The capabilities that a rule grants. Parts of them can depend on the call. */
export interface RuleCapabilities extends Omit<Capabilities, "fs" | "net"> {
  readonly fs?: readonly (FsGrant | WorkspaceTemplate | FileTemplate)[];
  readonly net?: readonly (NetGrant | OriginTemplate)[];
}

/** Grants the session's workspace, or a directory in it. The call is denied if the session has no workspace. */
export interface WorkspaceTemplate {
  /** `true`, or the path of a directory in the workspace: relative, without `.` and `..` segments. */
  readonly workspace: true | string;
  /** As in `DirectoryGrant`. Default: `/`. */
  readonly at?: string;
  /** As in `DirectoryGrant`. Default: false. */
  readonly write?: boolean;
  /** As in `DirectoryGrant`. Default: none. */
  readonly writesProtected?: WritesProtected;
}

/** A relative path in `/` segments, none of which is `.` or `..`. */
export const WORKSPACE_PATTERN = "^(?!\\.{1,2}(/|$))[^/\\\\\\0]+(/(?!\\.{1,2}(/|$))[^/\\\\\\0]+)*$";

/**
 * Grants the origin of the URL in an argument. The call is denied if the argument is missing, is ambiguous (see
 * `isAmbiguous`) or is not a URL whose origin is within the origins of the rule.
 */
export interface OriginTemplate {
  /** A JSON pointer to the argument. */
  readonly argument: string;
  /** Origins as in `NetGrant`. */
  readonly within: readonly string[];
}

/** The parts of a request that templates depend on. */
export interface TemplateSource {
  readonly input: JsonValue;
  readonly workspace?: string | undefined;
}

/** Scheme and authority, which every parser must read in the same way. */
const AUTHORITY =
  /^https?:\/\/(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?(?=[/?]|$)/i;

const POINTER = new RegExp(POINTER_PATTERN);

const WORKSPACE = new RegExp(WORKSPACE_PATTERN);

/** The sandbox, limits and capabilities for a call. Frozen. */
export interface ExecutionGrant {
  readonly sandbox: SandboxMode;
  /** What must confine the program, in the sandbox `process`. Absent if any of its ways will do. */
  readonly isolation?: RequiredIsolation;
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** The isolation that a policy can require of a program: the strongest. */
export type RequiredIsolation = "namespaces";

/** The options of {@link allow}. */
export interface GrantOptions {
  /** The sandbox to run the call in. The tool must have an implementation for it. */
  readonly sandbox: SandboxMode;
  /**
   * What must confine the program, in the sandbox `process`. A call fails with `sandbox_unavailable`, before anybody is
   * asked, if it cannot. Default: what the sandbox has.
   */
  readonly isolation?: RequiredIsolation;
  /** Limits to enforce. Default: those of the sandbox. */
  readonly limits?: ResourceLimits;
  /** Those that depend on the call need the option `request` of {@link allow} or `ask`. Default: none. */
  readonly capabilities?: RuleCapabilities;
}

/** Grants that this module checked and froze, and that therefore need no further check. */
const checkedGrants = new WeakSet<object>();

/**
 * Checks a grant, and returns a frozen copy. A grant that this function returned earlier is returned
 * unchanged.
 *
 * @param call What its capabilities can depend on. Default: they do not depend on a call.
 * @throws {TypeError} if the sandbox, a limit or a capability is unknown or invalid, or the isolation.
 * @throws {TemplateRefusal} if the call does not have what the capabilities depend on.
 */
export function checkGrant(grant: GrantOptions, call?: TemplateSource): ExecutionGrant {
  if (checkedGrants.has(grant)) return grant as ExecutionGrant;
  const { sandbox, isolation, limits = {}, capabilities = {}, ...unknown } = grant;
  if (!isSandboxMode(sandbox)) throw new TypeError("a grant must have a valid sandbox mode as 'sandbox'");
  if (isolation !== undefined && (isolation !== "namespaces" || sandbox !== "process"))
    throw new TypeError(
      "a grant can require the isolation 'namespaces' only, and only in the sandbox 'process'",
    );
  for (const key of Object.keys(unknown)) throw new TypeError(`unknown member '${key}' in a grant`);
  const checked = Object.freeze({
    sandbox,
    ...(isolation && { isolation }),
    limits: checkLimits(limits),
    capabilities: checkCapabilities(capabilitiesFor(capabilities, call)),
  });
  checkedGrants.add(checked);
  return checked;
}

function capabilitiesFor(capabilities: RuleCapabilities, call: TemplateSource | undefined): Capabilities {
  if (call === undefined) return capabilities as Capabilities;
  checkTemplates(capabilities);
  return fillIn(capabilities, call);
}

/**
 * Checks what in capabilities depends on the call. Those of rules are checked by their shape; those of a policy in code can
 * be anything.
 *
 * @throws {TypeError} if a part is not as its type says.
 */
function checkTemplates({ fs = [], net = [] }: RuleCapabilities): void {
  if (!Array.isArray(fs) || !Array.isArray(net)) {
    throw new TypeError("the capabilities 'fs' and 'net' must be lists");
  }
  for (const grant of [...fs, ...net] as readonly unknown[]) {
    if (typeof grant !== "object" || grant === null) continue;
    if ("workspace" in grant) checkWorkspace(grant as Record<string, unknown>);
    else if (isFileTemplate(grant)) checkFile(grant as unknown as Record<string, unknown>);
    else if (isOriginTemplate(grant as OriginTemplate))
      checkOrigin(grant as unknown as Record<string, unknown>);
  }
}

function checkWorkspace({
  workspace,
  at = "/",
  write = false,
  writesProtected,
  ...others
}: Record<string, unknown>): void {
  if (workspace !== true && !(typeof workspace === "string" && WORKSPACE.test(workspace))) {
    throw new TypeError("'workspace' must be true, or the path of a directory in the workspace, such as src");
  }
  checkAt(at);
  checkWrite(write, writesProtected, others);
}

function checkFile({
  file,
  within,
  at = "/",
  write = false,
  writesProtected,
  ...others
}: Record<string, unknown>): void {
  const { argument, ...unknown } = (file ?? {}) as Record<string, unknown>;
  checkPointer(argument);
  checkHostPath("within", within);
  checkAt(at);
  checkWrite(write, writesProtected, { ...others, ...unknown });
}

function checkOrigin({ argument, within, ...others }: Record<string, unknown>): void {
  checkPointer(argument);
  if (!Array.isArray(within) || within.length === 0 || Object.keys(others).length > 0) {
    throw new TypeError("a grant of an origin must be { argument, within }, with origins in 'within'");
  }
  for (const origin of within) {
    if (typeof origin !== "string") throw new TypeError("'within' must have origins");
    checkNetGrant(origin);
  }
}

function checkPointer(argument: unknown): void {
  if (typeof argument === "string" && POINTER.test(argument)) return;
  throw new TypeError("'argument' must be a JSON pointer to an argument, such as '/path'");
}

/** Whether capabilities depend on the call. */
export function hasTemplates({ fs = [], net = [] }: RuleCapabilities = {}): boolean {
  return (
    fs.some((grant) => "workspace" in grant || isFileTemplate(grant)) ||
    net.some((grant) => isOriginTemplate(grant))
  );
}

/** Whether an item of `net` is a template. */
export function isOriginTemplate(grant: NetGrant | OriginTemplate): grant is OriginTemplate {
  return typeof grant === "object" && "argument" in grant;
}

/**
 * Returns the capabilities for a call.
 *
 * @throws {TemplateRefusal} if the call does not have what they depend on.
 */
export function fillIn({ fs, net, ...others }: RuleCapabilities, call: TemplateSource): Capabilities {
  return {
    ...others,
    ...(fs && { fs: fs.map((grant) => fsGrantFor(grant, call)) }),
    ...(net && { net: net.map((grant) => (isOriginTemplate(grant) ? originFor(grant, call) : grant)) }),
  };
}

/** Returns the most that capabilities can grant to any call, for checks before there is one. */
export function mostOf({ fs, net, ...others }: RuleCapabilities): Capabilities {
  const workspace = "/workspace";
  return {
    ...others,
    ...(fs && {
      fs: fs.map((grant, index) =>
        isFileTemplate(grant) ? anyFileOf(grant, index) : fsGrantFor(grant, { input: null, workspace }),
      ),
    }),
    ...(net && {
      net: net.flatMap((grant): readonly NetGrant[] => (isOriginTemplate(grant) ? grant.within : [grant])),
    }),
  };
}

function fsGrantFor(grant: FsGrant | WorkspaceTemplate | FileTemplate, call: TemplateSource): FsGrant {
  if ("workspace" in grant) return directoryFor(grant, call);
  return isFileTemplate(grant) ? fileFor(grant, call.input) : grant;
}

function directoryFor(
  { workspace: within, ...rest }: WorkspaceTemplate,
  call: TemplateSource,
): DirectoryGrant {
  const { workspace } = call;
  if (workspace === undefined) throw new TemplateRefusal("the session has no workspace");
  return { ...rest, directory: within === true ? workspace : join(workspace, within) };
}

function originFor({ argument, within }: OriginTemplate, { input }: TemplateSource): string {
  const url = lookUp(input, parsePointer(argument));
  if (typeof url === "symbol") throw new TemplateRefusal(`the argument ${argument} is missing`);
  const origin = originOfUrl(url);
  if (origin === undefined) {
    throw new TemplateRefusal(`the argument ${argument} is not a URL whose origin is certain`);
  }
  const own = parseOrigin(origin);
  if (!within.some((outer) => isWithinOrigin(own, parseOrigin(outer)))) {
    throw new TemplateRefusal(`the origin of the argument ${argument} is not within those of the rule`);
  }
  return origin;
}

function originOfUrl(url: JsonValue): string | undefined {
  if (typeof url !== "string" || /[\s\p{C}]/u.test(url) || isAmbiguous(url)) return undefined;
  const authority = AUTHORITY.exec(url)?.[0];
  if (authority === undefined || !URL.canParse(authority)) return undefined;
  const { origin } = new URL(authority);
  return URL.canParse(url) && new URL(url).origin === origin ? origin : undefined;
}

/** Whether a checked grant gives at most what another one gives, in the same sandbox: see {@link permitsNoMore}. */
export function isWithinGrant(grant: ExecutionGrant, bound: ExecutionGrant): boolean {
  return grant === bound || (grant.sandbox === bound.sandbox && permitsNoMore(grant, bound));
}

/**
 * Whether the limits and capabilities of a checked grant give at most what those of another one give: the isolation that it
 * requires, no limit that is higher or missing, and no further capability. Capabilities that cannot be compared count as wider.
 */
export function permitsNoMore(
  grant: Omit<ExecutionGrant, "sandbox">,
  bound: Omit<ExecutionGrant, "sandbox">,
): boolean {
  if (bound.isolation !== undefined && grant.isolation !== bound.isolation) return false;
  for (const name of LIMIT_NAMES) {
    const most = bound.limits[name];
    if (most !== undefined && (grant.limits[name] ?? Number.POSITIVE_INFINITY) > most) return false;
  }
  const own = commonCapabilities(grant.capabilities, grant.capabilities);
  const common = commonCapabilities(bound.capabilities, grant.capabilities);
  return canonicalText(own as JsonValue) === canonicalText(common as JsonValue);
}
