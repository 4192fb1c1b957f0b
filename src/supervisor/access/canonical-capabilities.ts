import { isAbsolute } from "node:path";
import { type AgentCapabilities, type FsCapability, pathOf } from "../../policy/agent-capabilities.ts";
import { canonicalPath } from "./canonical-path.ts";

/**
 * Resolves the links in the paths of capabilities: the kernel compares canonical paths. What does not exist yet is what it is
 * granted as.
 *
 * @throws {TypeError} if a path is not absolute, cannot be resolved, or is a file in place of a directory or the reverse.
 */
export function canonicalCapabilities(capabilities: AgentCapabilities): AgentCapabilities {
  const { fs } = capabilities;
  if (!Array.isArray(fs)) return capabilities;
  return { ...capabilities, fs: fs.map(canonicalCapability) };
}

function canonicalCapability(given: FsCapability): FsCapability {
  const path: unknown = pathOf(given);
  // Another form is refused with the others that are not valid.
  if (path === undefined) return given;
  if (typeof path !== "string" || !isAbsolute(path))
    throw new TypeError("the path of an fs capability must be absolute, such as /srv/data");
  const found = canonicalPath(path);
  if (found === undefined) throw new TypeError(`the path '${path}' of an fs capability cannot be resolved`);
  const isFile = "file" in given;
  if (found.kind === (isFile ? "folder" : "file")) {
    const [is, write] = isFile ? ["a directory", "directory"] : ["a file", "file"];
    throw new TypeError(`'${path}' of an fs capability is ${is}: write it as '${write}'`);
  }
  return isFile ? { ...given, file: found.path } : { ...given, directory: found.path };
}
