import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Node, Options, Program } from "acorn";
import type { LIBRARY } from "./acorn-library.ts";

/** Where acorn is beside this code: in `src`, in the files of QuickJS's threads, and in that of the check of programs. */
const PLACES = ["./acorn-library", "../acorn-library", "../../sandboxes/quickjs/acorn-library"];

let library: typeof LIBRARY | undefined;

/** A node of a syntax tree, with members that depend on its type. */
export interface SyntaxNode extends Node {
  readonly [member: string]: unknown;
}

/** How a program is parsed: as the body of an asynchronous function. */
export const SCRIPT: Options = {
  ecmaVersion: "latest",
  sourceType: "script",
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  locations: true,
};

/** Parses code; returns why it cannot be. */
export function parsed(code: string, options: Options): Program | SyntaxError {
  try {
    return loadAcorn().parse(code, options);
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}

/** Returns an error of a program, at the place of a node. */
export function positioned(message: string, { loc }: Pick<SyntaxNode, "loc">): SyntaxError {
  return Object.assign(new SyntaxError(message), { loc: loc?.start });
}

/** Visits all nodes of a syntax tree. It does not recurse, so that no depth overflows the stack. */
export function walk(root: Node, visit: (node: SyntaxNode) => void): void {
  const left: unknown[] = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value) left.push(item);
      continue;
    }
    if (typeof (value as SyntaxNode).type !== "string") continue;
    visit(value as SyntaxNode);
    for (const member of Object.values(value)) left.push(member);
  }
}

/** Loads acorn, synchronously, on first use: most threads of QuickJS run no programs. */
export function loadAcorn(): typeof LIBRARY {
  if (library === undefined) {
    const extension = extname(import.meta.filename);
    const files = PLACES.map((place) => fileURLToPath(new URL(`${place}${extension}`, import.meta.url)));
    const file = files.find((each) => existsSync(each)) ?? "acorn-library";
    library = (createRequire(file)(file) as { readonly LIBRARY: typeof LIBRARY }).LIBRARY;
  }
  return library;
}
