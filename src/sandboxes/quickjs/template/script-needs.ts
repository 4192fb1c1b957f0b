import { posix } from "node:path";
import type { CapabilityName } from "../../../policy/grant/capabilities.ts";
import type { QuickJsImplementation } from "../../../tool/implementations/quickjs-implementation.ts";
import { ToolSource } from "./tool-source.ts";

/** What a module mentions when it uses a capability. */
const MENTIONS: readonly (readonly [mention: RegExp, capability: CapabilityName])[] = [
  [/\bfetch\s*\(/, "net"],
  [/\bfs\b/, "fs"],
  [/\btools\s*\.\s*call\s*\(/, "tools"],
  [/\b(?:getRandomValues|randomUUID)\b/, "random"],
];

/** The relative path of an import or a re-export. */
const IMPORT = /\b(?:from|import)\s*\(?\s*["'](\.{1,2}\/[^"'\n]+)["']/g;

/** Matches a comment, or a string, whose text is retained: it may be the path of an import. */
const COMMENT_OR_STRING = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/g;

/**
 * Returns the capabilities that the modules of a tool mention. A tool may mention one that it does not use; what it uses by
 * an unusual name is not found.
 *
 * @throws {ToolPreparationError} if a module cannot be read.
 */
export async function scriptNeeds(
  implementation: QuickJsImplementation,
): Promise<ReadonlySet<CapabilityName>> {
  const source = await ToolSource.open(implementation);
  const needs = new Set<CapabilityName>();
  const names = new Set([source.program.entry]);
  // A set can be extended while it is read.
  for (const name of names) {
    await source.read(name);
    const { sources, aliases } = source.program;
    const code = (sources[aliases?.get(name) ?? name] ?? "").replace(COMMENT_OR_STRING, "$1");
    for (const [mention, capability] of MENTIONS) if (mention.test(code)) needs.add(capability);
    for (const [, path = ""] of code.matchAll(IMPORT)) names.add(posix.join(posix.dirname(name), path));
  }
  return needs;
}
