import { type FsGrant, isFileGrant } from "../../policy/grant/fs-grant.ts";
import { shownPath } from "../../tool/file-failure.ts";
import { checkDeclaredArguments, type DeclaredPath } from "../arguments/declared-paths.ts";
import { protectedPlaceText } from "../failure/errors.ts";
import { Refusal } from "../failure/refusal.ts";
import { shownName } from "../in-flight/shown-name.ts";
import type { GrantedCall, ParsedCall } from "../in-flight/state.ts";

/**
 * Checks the paths and URLs that the tool declares, and sets `declaredPaths`. Nobody is asked about a call whose paths lead
 * out of the session's workspace. What is there can change until the call runs, so whatever opens the paths checks them
 * again.
 *
 * @throws {Refusal} `permission_denied`, `validation_error`.
 */
export function checkDeclared(call: ParsedCall): undefined | Promise<undefined> {
  const { registered, input, ctx } = call;
  const { declared } = registered;
  if (declared === undefined) return undefined;
  const checked = checkDeclaredArguments(declared, input, ctx.workspace, shownName(call));
  return checked instanceof Promise ? checked.then((paths) => set(call, paths)) : set(call, checked);
}

function set(call: ParsedCall, paths: readonly DeclaredPath[]): undefined {
  call.declaredPaths = paths;
}

/**
 * Refuses a call that would write where other programs run what they find, unless the grant names the place: the sandbox
 * would refuse it, too late for the person who was asked.
 *
 * @throws {Refusal} `permission_denied`.
 */
export function refuseProtected({ declaredPaths = [], ctx, grant }: GrantedCall): void {
  const { workspace } = ctx;
  if (workspace === undefined) return;
  for (const { access, path, resolved } of declaredPaths) {
    if (access !== "write" || resolved === undefined) continue;
    const granted = (grant.capabilities.fs ?? []).filter(({ write }) => write).map(placeOf);
    const depths = [workspace, ...granted].map((place) => resolved.depthIn(place) ?? 0);
    if (!resolved.isProtected(Math.max(...depths))) continue;
    throw new Refusal("permission_denied", protectedPlaceText(shownPath(path)), {
      detail: "a declared path is in a protected place that no grant names",
    });
  }
}

/** The place that a grant names. */
function placeOf(grant: FsGrant): string {
  return isFileGrant(grant) ? (grant.within ?? grant.file) : grant.directory;
}
