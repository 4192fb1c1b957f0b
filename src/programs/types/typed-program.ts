import { beginning } from "../../base/text.ts";
import { UNPRINTABLE } from "../../base/unprintable.ts";

const PROGRAM = "program.ts";
const DECLARATIONS = "declarations.d.ts";

/** The lines before those of the program, in its file. */
const LINES_BEFORE = 1;

/** The longest message of the compiler that is passed on, in UTF-16 code units. */
const MAX_MESSAGE_LENGTH = 400;

/** The most problems that are passed on. */
const MAX_PROBLEMS = 10;

/** A line about a problem of the program. */
const DIAGNOSTIC = /^program\.ts\((\d+),(\d+)\): error TS\d+: (.*)$/;

/** A function that is the whole program is called with `tools`, so that its parameter needs no type. */
const RUN = `declare function sandgateRun(program: (given: typeof tools) => unknown): unknown;
declare function sandgateRun(value: unknown): unknown;
`;

/** What is known of a program before its types are checked. */
export interface TypedProgram {
  readonly code: string;
  /** Whether it is an expression, without a semicolon behind it, and not the body of an asynchronous function. */
  readonly isExpression: boolean;
  /** The declaration of `tools`, with the types of those that the program names. */
  readonly declarations: string;
}

/** Returns the files for the compiler, by their names. */
export function filesOf({
  code,
  isExpression,
  declarations,
}: TypedProgram): Readonly<Record<string, string>> {
  const program = isExpression
    ? `(async () => sandgateRun(\n${code}\n))();\n`
    : `(async () => {\n${code}\n})();\n`;
  return { [PROGRAM]: program, [DECLARATIONS]: declarations + RUN };
}

/**
 * Reads what the compiler said, and returns the first problems of the program as `/code line:column: message`.
 *
 * @param output Its last line is ignored unless it ends: what the compiler says is cut when it is too long.
 * @throws {Error} if it said anything about something else, such as its options.
 */
export function readDiagnostics(output: string): readonly string[] {
  const problems: string[] = [];
  for (const line of output.split("\n").slice(0, -1)) {
    if (problems.length === MAX_PROBLEMS) break;
    // The lines that explain a problem further are indented.
    if (line.startsWith(" ")) continue;
    const [, at = "", column, message = ""] = DIAGNOSTIC.exec(line) ?? [];
    if (at === "") throw new Error(`the compiler said: ${beginning(line, MAX_MESSAGE_LENGTH)}`);
    const text = beginning(withoutAdvice(message.trim()), MAX_MESSAGE_LENGTH).replace(UNPRINTABLE, "\ufffd");
    problems.push(`/code ${Math.max(Number(at) - LINES_BEFORE, 1)}:${column}: ${text}`);
  }
  if (problems.length === 0 && output !== "") return ["/code types do not fit"];
  return problems;
}

/** Replaces the advice to install types or to change options, which a program cannot follow. */
function withoutAdvice(message: string): string {
  return message.replace(
    /^(Cannot find (?:name|module) '[^']*')(?:\.| or) (?:Do you need|its corresponding|Try |Consider ).*$/,
    "$1: programs have what JavaScript has and web APIs, and reach everything else by tools",
  );
}
