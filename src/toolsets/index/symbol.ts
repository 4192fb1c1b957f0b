/** What a symbol is. */
export type SymbolKind = "class" | "function" | "method" | "type" | "constant" | "variable";

/** A symbol that a file defines. */
export interface CodeSymbol {
  readonly name: string;
  readonly kind: SymbolKind;
  /** The line of its definition, from 1. */
  readonly line: number;
  /** The class that it belongs to, for methods. */
  readonly container?: string;
}
