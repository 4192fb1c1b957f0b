import type { Identifier, Node, Program } from "acorn";
import { analyze, type Reference, type Scope } from "eslint-scope";
import { type SyntaxNode, walk } from "../syntax-tree.ts";

/**
 * Finds the uses of variables that a module does not declare and the sandbox does not have. A name that the module
 * tests with `typeof` is not reported: the module works without it. Neither is one inside the block of a `try` with a
 * `catch`, which receives the `ReferenceError`.
 */
export function findMissingGlobals(program: Program, globals: ReadonlySet<string>): readonly Identifier[] {
  const { tested, caught } = guardsOf(program);
  return undeclared(program).filter(
    ({ name, start }) =>
      !globals.has(name) &&
      !tested.has(name) &&
      !caught.some((block) => block.start <= start && start < block.end),
  );
}

function undeclared(program: Program): readonly Identifier[] {
  const options = { ecmaVersion: 2022, sourceType: "module" } as const;
  const { globalScope } = analyze(program as Parameters<typeof analyze>[0], options);
  const references: readonly Reference[] = (globalScope as Scope | null)?.through ?? [];
  return references.map(({ identifier }) => identifier as unknown as Identifier);
}

/** Where a module is prepared for a missing variable. */
interface Guards {
  /** The names that it tests with `typeof`. */
  readonly tested: ReadonlySet<string>;
  /** The blocks whose errors it catches. */
  readonly caught: readonly Node[];
}

function guardsOf(program: Program): Guards {
  const tested = new Set<string>();
  const caught: Node[] = [];
  walk(program, (node) => {
    const { type, operator, argument, handler, block } = node;
    if (type === "UnaryExpression" && operator === "typeof" && isNode(argument)) {
      const { type: operand, name } = argument;
      if (operand === "Identifier" && typeof name === "string") tested.add(name);
    }
    if (type === "TryStatement" && isNode(handler) && isNode(block)) caught.push(block);
  });
  return { tested, caught };
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value;
}
