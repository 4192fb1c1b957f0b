import type { HostContext } from "../tool/implementations/implementations.ts";
import { ToolFailure } from "../tool/tool-failure.ts";
import type { WorkspaceFiles } from "../tool/workspace-files.ts";

/**
 * Returns the files that a call of a tool with `usesFiles` was granted.
 *
 * @throws {ToolFailure} `permission_denied` if the grant has no `fs`.
 */
export function grantedFiles({ files }: Pick<HostContext, "files">): WorkspaceFiles {
  if (files !== undefined) return files;
  throw new ToolFailure("permission_denied", "Permission denied: no files are granted to this tool", {
    effect: "none",
  });
}
