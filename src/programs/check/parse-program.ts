import { type Options, type Program, parse } from "acorn";
import { withoutEnd } from "./without-end.ts";

/** The body of an asynchronous function. */
const PARSING: Options = {
  ecmaVersion: "latest",
  sourceType: "script",
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  locations: true,
};

/** Parses a program as it is evaluated: as an expression, or else as the body of a function. */
export function parseProgram(code: string): { readonly program: Program; readonly linesBefore: number } {
  try {
    return { program: parse(`(\n${withoutEnd(code)}\n)`, PARSING), linesBefore: 1 };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { program: parse(code, PARSING), linesBefore: 0 };
  }
}
