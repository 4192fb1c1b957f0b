import type { JsonValue } from "../../json/value.ts";

/** A place in a program. */
export interface CodePosition {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
}

/** A program for the thread to check. */
export interface CheckTask {
  readonly code: string;
  /** Default: it is found by the code. */
  readonly language?: "js" | "ts" | undefined;
}

/** What the thread found: why the code does not parse, or what it is. */
export type CheckedCode = { readonly problem: CodePosition & { readonly message: string } } | ParsedCode;

/** A program that parses. */
export interface ParsedCode {
  /** Whether it is an expression, and not the body of an asynchronous function. */
  readonly isExpression: boolean;
  readonly language: "js" | "ts";
  /** The code as it is evaluated, with its types; of an expression, without a semicolon behind it. */
  readonly typed: string;
  /** Where it names tools. */
  readonly uses: readonly ToolUse[];
}

/** A place where a program names a tool as a member of `tools`. */
export interface ToolUse extends CodePosition {
  readonly name: string;
  /** What is known of the input, where the tool is called. */
  readonly input?: KnownInput;
}

/** The literal parts of an input. */
export interface KnownInput {
  /** The input, with `null` for each part that is not a literal. */
  readonly value: JsonValue;
  /** JSON pointers to the parts that are not literals. */
  readonly unknown: readonly string[];
  /** Where the parts are, by their JSON pointers. */
  readonly places: Readonly<Record<string, CodePosition>>;
}
