import { POINTER_PATTERN } from "../../json/pointer.ts";
import { isSandboxMode, type SandboxMode } from "../../tool/sandbox-mode.ts";
import { type Capabilities, checkCapabilities } from "./capabilities.ts";
import { isFileTemplate } from "./file-template.ts";
import { checkAt, checkHostPath, checkWrite } from "./fs-members.ts";
import {
  fillIn,
  isOriginTemplate,
  type OriginTemplate,
  type RuleCapabilities,
  type TemplateSource,
  WORKSPACE_PATTERN,
} from "./grant-template.ts";
import { checkLimits, type ResourceLimits } from "./limits.ts";
import { checkNetGrant } from "./net-grant.ts";

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

/** What a policy can require to confine a program: nothing holds more. */
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
