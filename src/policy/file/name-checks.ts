import { suggest } from "../../base/unknown-names.ts";
import type { ConfigPath } from "../../config/source.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import type { PolicyTool } from "./checked-rule.ts";

/** A name or a tag that no registered tool has. */
export interface UnknownName {
  readonly path: ConfigPath;
  readonly message: string;
}

/** Finds the names and tags that no registered tool has: they are most likely misspelt. */
export function unknownNames(
  { tools = [], tags = [] }: { readonly tools?: readonly string[]; readonly tags?: readonly string[] },
  registered: readonly PolicyTool[],
): readonly UnknownName[] {
  const names = registered.map(({ name }) => name);
  const known = registered.flatMap((tool) => tool.tags ?? []);
  return [
    ...tools.flatMap((pattern, index) => {
      const { matches } = compileNamePattern(pattern);
      if (names.some((name) => matches(name))) return [];
      return {
        path: ["tools", index],
        message: `'${pattern}' matches no registered tool${didYouMean(pattern, names)}`,
      };
    }),
    ...tags.flatMap((tag, index) => {
      if (known.includes(tag)) return [];
      return {
        path: ["tags", index],
        message: `no registered tool has the tag '${tag}'${didYouMean(tag, known)}`,
      };
    }),
  ];
}

/** Returns a message that no tool has a name, with the one that is most likely meant. */
export function unregistered(name: string, names: readonly string[]): string {
  return `no tool '${name}' is registered${didYouMean(name, names)}`;
}

/** Returns a hint with the name that a misspelt one most likely stands for; empty if that is not obvious. */
export function didYouMean(misspelt: string, names: readonly string[]): string {
  const meant = suggest(misspelt, names);
  return meant === undefined ? "" : `: did you mean '${meant}'?`;
}
