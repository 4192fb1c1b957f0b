import type { Workspace } from "../../../../../workspace/workspace.ts";
import type { InterfaceMembers } from "../../interface-members.ts";
import { descriptorOf } from "./descriptor.ts";
import { filesystemErrorCode } from "./error.ts";

/** Returns `wasi:filesystem/preopens` with the granted directories. */
export function preopens(workspace: Workspace | undefined): InterfaceMembers {
  return {
    getDirectories: () =>
      workspace?.directories.map(({ at, directory }) => [descriptorOf(directory.share()), at]) ?? [],
  };
}

/** `wasi:filesystem/types`. Its resources can only be obtained from the granted directories. */
export const filesystemTypes: InterfaceMembers = Object.freeze({ filesystemErrorCode });
