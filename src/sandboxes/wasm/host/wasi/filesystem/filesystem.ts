import type { Workspace } from "../../../../../workspace/workspace.ts";
import type { InterfaceMembers } from "../../interface-members.ts";
import { descriptorOf } from "./descriptor.ts";
import { filesystemErrorCode } from "./error.ts";

/** `wasi:filesystem/preopens`: the granted directories. Without a grant there are none. */
export function preopens(workspace: Workspace | undefined): InterfaceMembers {
  return {
    getDirectories: () =>
      workspace?.directories.map(({ at, directory }) => [descriptorOf(directory.share()), at]) ?? [],
  };
}

/** `wasi:filesystem/types`. Its resources come from the granted directories, and from nowhere else. */
export const filesystemTypes: InterfaceMembers = Object.freeze({ filesystemErrorCode });
