import { POINTER_PATTERN } from "../../json/pointer.ts";
import { isFileTemplate } from "./file-template.ts";
import { checkAt, checkHostPath, checkWrite } from "./fs-members.ts";
import {
  isOriginTemplate,
  type OriginTemplate,
  type RuleCapabilities,
  WORKSPACE_PATTERN,
} from "./grant-template.ts";
import { checkNetGrant } from "./net-grant.ts";

const POINTER = new RegExp(POINTER_PATTERN);
const WORKSPACE = new RegExp(WORKSPACE_PATTERN);

/**
 * Checks what in capabilities depends on the call. Those of rules are checked by their shape; those of a policy in code can
 * be anything.
 *
 * @throws {TypeError} if a part is not as its type says.
 */
export function checkTemplates({ fs = [], net = [] }: RuleCapabilities): void {
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
