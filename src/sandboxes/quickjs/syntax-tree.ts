import type { Node } from "acorn";

/** A node of a syntax tree, with members that depend on its type. */
export interface SyntaxNode extends Node {
  readonly [member: string]: unknown;
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
