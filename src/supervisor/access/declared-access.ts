import { lookUpAll, parsePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import type { FsCapability } from "../../policy/agent-capabilities.ts";
import type { CapabilityKernel } from "../../policy/capability-kernel.ts";
import type { ToolAccess } from "../../tool/tool-traits.ts";
import type { Slug } from "../messages.ts";
import { canonicalPath } from "./canonical-path.ts";

/** Why a call is refused: what the agent reads, and what an operator does. */
export interface AccessProblem {
  readonly slug: Extract<Slug, "fs_denied" | "invalid_args" | "permission_denied">;
  readonly message: string;
  readonly reason: string;
}

/** A file or folder that a call names, and the capability that gives it. */
export interface AllowedPath {
  readonly capability: FsCapability;
  readonly isFile: boolean;
  readonly isWritten: boolean;
}

/** Maximum number of paths and URLs of a call: each path takes a few system calls. */
const MAX_VALUES = 1_000;

/**
 * Checks the paths and then the URLs that a tool declares among the arguments of a call, in the order of their declarations.
 *
 * @param input The arguments, which need not match the tool's schema.
 * @returns The first problem, or the paths.
 */
export function checkDeclaredAccess(
  kernel: CapabilityKernel,
  agent: string,
  { paths = [], urls = [] }: ToolAccess,
  input: JsonValue,
): AccessProblem | readonly AllowedPath[] {
  const allowed: AllowedPath[] = [];
  for (const { argument, access } of paths) {
    const found = lookUpAll(input, parsePointer(argument));
    if (found.length === 0)
      return fsDenied(`the argument ${argument} is missing: give the path`, `${argument} is absent`);
    if (allowed.length + found.length > MAX_VALUES)
      return invalid(`${argument} holds more than ${MAX_VALUES} paths: make several calls`);
    for (const { pointer, value } of found) {
      if (typeof value !== "string") return invalid(`${pointer} must be string`);
      const path = checkPath(kernel, agent, value, access === "write");
      if ("slug" in path) return path;
      allowed.push(path);
    }
  }
  let checked = 0;
  for (const { argument } of urls) {
    const found = lookUpAll(input, parsePointer(argument));
    if (found.length === 0)
      return netDenied(`the argument ${argument} is missing: give the URL`, `${argument} is absent`);
    checked += found.length;
    if (checked > MAX_VALUES)
      return invalid(`${argument} holds more than ${MAX_VALUES} URLs: make several calls`);
    for (const { value } of found) {
      const origin = originOf(value);
      if (origin === undefined || !kernel.checkNet(agent, origin))
        return netDenied(
          "requests to this server are not among your capabilities",
          `the origin of ${argument} is not granted`,
        );
    }
  }
  return allowed;
}

function checkPath(
  kernel: CapabilityKernel,
  agent: string,
  given: string,
  isWritten: boolean,
): AllowedPath | AccessProblem {
  if (!given.startsWith("/"))
    return fsDenied("the path must be absolute, such as /srv/data/notes.txt", "a relative path");
  const found = canonicalPath(given);
  const capability = found && kernel.fsCapabilityFor(agent, found.path, isWritten ? "rw" : "r");
  if (found !== undefined && capability !== undefined)
    return { capability, isWritten, isFile: found.kind === "file" };
  const use = isWritten ? "writing" : "reading";
  return fsDenied(
    `${use} this path is not among your capabilities`,
    found === undefined ? "a path that leads nowhere" : `${use} '${found.path}' is not granted`,
  );
}

/** The origin of a URL as the kernel compares it; `undefined` if the URL has none. */
function originOf(value: JsonValue): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  const { origin, protocol, username, password } = new URL(value);
  if (username !== "" || password !== "") return undefined;
  return protocol === "http:" || protocol === "https:" ? origin : undefined;
}

function fsDenied(message: string, reason: string): AccessProblem {
  return { slug: "fs_denied", message: `Permission denied: ${message}`, reason };
}

function netDenied(message: string, reason: string): AccessProblem {
  return { slug: "permission_denied", message: `Permission denied: ${message}`, reason };
}

function invalid(message: string): AccessProblem {
  return { slug: "invalid_args", message: `Invalid arguments: ${message}`, reason: message };
}
