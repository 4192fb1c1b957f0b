import { relative } from "node:path";
import { checkGrant, type ExecutionGrant } from "../policy/grant/execution-grant.ts";
import { type DirectoryGrant, type FsGrant, isFileGrant } from "../policy/grant/fs-grant.ts";
import type { PolicyDecision } from "../policy/policy.ts";

/** A shadow, and the workspace that it stands for. */
export interface ShadowPlace {
  readonly workspace: string;
  readonly shadow: string;
}

/** Returns a decision whose grant gives the shadow in place of the workspace. What contains the workspace is only read. */
export function grantShadow(decision: PolicyDecision, place: ShadowPlace): PolicyDecision {
  if (decision.decision === "deny" || decision.grant === undefined) return decision;
  return Object.freeze({ ...decision, grant: shadowGrant(decision.grant, place) });
}

function shadowGrant<Grant extends ExecutionGrant>(grant: Grant, place: ShadowPlace): Grant {
  const { fs } = grant.capabilities;
  if (fs === undefined) return grant;
  const capabilities = { ...grant.capabilities, fs: fs.map((each) => shadowOf(each, place)) };
  return checkGrant({ ...grant, capabilities }) as Grant;
}

function shadowOf(grant: FsGrant, place: ShadowPlace): FsGrant {
  if (!isFileGrant(grant)) {
    const directory = moved(grant.directory, place);
    const shown = { ...grant, directory };
    return pathIn(directory, place.workspace) === undefined ? shown : withoutWrite(shown);
  }
  const { within } = grant;
  const file = moved(grant.file, place);
  return {
    ...grant,
    file,
    ...(within !== undefined && { within: file === grant.file ? within : movedOrShadow(within, place) }),
  };
}

/** Returns the path in the shadow of one in the workspace; any other path as it is. */
function moved(path: string, { workspace, shadow }: ShadowPlace): string {
  if (pathIn(shadow, path) !== undefined) return path;
  const inside = pathIn(workspace, path);
  return inside === undefined ? path : inside === "" ? shadow : `${shadow}/${inside}`;
}

/** A file that was granted in a directory above the workspace is in the shadow now. */
function movedOrShadow(within: string, place: ShadowPlace): string {
  const path = moved(within, place);
  return pathIn(path, place.workspace) === undefined ? path : place.shadow;
}

function withoutWrite({ writesProtected: _, ...grant }: DirectoryGrant): DirectoryGrant {
  return { ...grant, write: false };
}

function pathIn(directory: string, path: string): string | undefined {
  const found = relative(directory, path);
  return found === ".." || found.startsWith("../") ? undefined : found;
}
