import { pathToFileURL } from "node:url";

/**
 * Loads a function that an embedder's module exports.
 *
 * @param module An absolute path, or a `file:` URL.
 * @throws {Error} when the module does not load, or exports no such function.
 */
export async function loadFunction(module: string, name: string): Promise<(...args: never[]) => unknown> {
  const url = module.startsWith("file:") ? module : pathToFileURL(module).href;
  const exports: Record<string, unknown> = await import(url);
  const loaded = exports[name];
  if (typeof loaded === "function") return loaded as (...args: never[]) => unknown;
  throw new Error(`the module has no exported function '${name}'`);
}
