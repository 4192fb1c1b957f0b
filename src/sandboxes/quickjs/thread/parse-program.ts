import type { Options, Program } from "acorn";
import { loadAcorn } from "../load-acorn.ts";
import type { SyntaxNode } from "../syntax-tree.ts";

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
