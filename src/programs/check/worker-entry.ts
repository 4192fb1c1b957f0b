import type { Node, Program } from "acorn";
import type { SyntaxNode } from "../../sandboxes/quickjs/parse-program.ts";
import { formOf, withoutEnd } from "../../sandboxes/quickjs/thread/program-form.ts";
import { TypeStrippingError, typeStripperIsBroken } from "../../sandboxes/quickjs/thread/type-stripper.ts";
import type { TaskThread } from "../../sandboxes/threads/thread-message.ts";
import type { CheckedCode, CheckTask, CodePosition } from "./checked-code.ts";
import { findToolUses } from "./tool-uses.ts";

/** Checks a program. It runs in a thread that can be ended, because parsing hostile code can take long. */
export default function checkProgram(task: CheckTask, thread: TaskThread): CheckedCode {
  thread.markStarted();
  const checked = checkCode(task);
  if (typeStripperIsBroken()) thread.afterwards(() => process.exit(1));
  return checked;
}

/** Parses a program and finds the tools that it names. Runs nothing. */
function checkCode({ code, language }: CheckTask): CheckedCode {
  try {
    const { program, isExpression, typed, language: read } = formOf(code, language);
    const linesBefore = isExpression ? 1 : 0;
    const uses = findToolUses(program, wholeFunction(program), (node) => positionOf(node, linesBefore));
    return { isExpression, uses, language: read, typed: isExpression ? withoutEnd(typed) : typed };
  } catch (error) {
    return { problem: problemOf(error) };
  }
}

/** The function that is the whole program, if it is one: it is called with `tools`. */
function wholeFunction({ body }: Program): Node | undefined {
  const [only, ...others] = body;
  return only?.type === "ExpressionStatement" && others.length === 0 ? only.expression : undefined;
}

function positionOf({ loc }: SyntaxNode, linesBefore: number): CodePosition {
  return { line: (loc?.start.line ?? 1) - linesBefore, column: (loc?.start.column ?? 0) + 1 };
}

/** @throws whatever is no problem of the code. */
function problemOf(error: unknown): CodePosition & { readonly message: string } {
  if (error instanceof TypeStrippingError) {
    const [, line, column, message = error.message] = /^(\d+):(\d+): (.*)$/s.exec(error.message) ?? [];
    return { line: Number(line ?? 1), column: Number(column ?? 1), message };
  }
  // Code that is nested too deeply overflows the parser's stack.
  if (error instanceof RangeError) return { line: 1, column: 1, message: "the code is nested too deeply" };
  if (!(error instanceof SyntaxError)) throw error;
  const { loc } = error as SyntaxError & {
    readonly loc?: { readonly line: number; readonly column: number };
  };
  const message = error.message.replace(/ \(\d+:\d+\)$/, "");
  return { line: loc?.line ?? 1, column: (loc?.column ?? 0) + 1, message };
}
