import { isAbsolute } from "node:path";
import type { AgentCapabilities, FsCapability } from "../../policy/kernel/agent-capabilities.ts";
import { canonicalPath } from "./canonical-path.ts";

/**
 * Resolves the links in the paths of capabilities, and finds out which of them are files: the kernel compares canonical
 * paths. What does not exist yet counts as a folder.
 *
 * @throws {TypeError} if a path is not absolute, or cannot be resolved.
 */
export function canonicalCapabilities(capabilities: AgentCapabilities): AgentCapabilities {
  const { fs } = capabilities;
  if (!Array.isArray(fs)) return capabilities;
  return { ...capabilities, fs: fs.map(canonicalCapability) };
}

function canonicalCapability(given: FsCapability): FsCapability {
  const { path } = given;
  if (typeof path !== "string" || !isAbsolute(path))
    throw new TypeError("the path of an fs capability must be absolute, such as /srv/data");
  const found = canonicalPath(path);
  if (found === undefined) throw new TypeError(`the path '${path}' of an fs capability cannot be resolved`);
  return { ...given, path: found.path, kind: found.kind === "file" ? "file" : "folder" };
}
