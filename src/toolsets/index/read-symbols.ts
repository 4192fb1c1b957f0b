import { javaScriptSymbols } from "./javascript-symbols.ts";
import { pythonSymbols } from "./python-symbols.ts";
import type { CodeSymbol } from "./symbol.ts";

/** Reads the symbols of a file's text. */
type SymbolReader = (text: string) => readonly CodeSymbol[];

const READERS: ReadonlyMap<string, SymbolReader> = new Map([
  ...["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"].map((end) => [end, javaScriptSymbols] as const),
  ...["py", "pyi"].map((end) => [end, pythonSymbols] as const),
]);

/** Returns the reader for a file, if it is in a language that is read. */
export function symbolReader(path: string): SymbolReader | undefined {
  return READERS.get(path.slice(path.lastIndexOf(".") + 1));
}
