import { pathToFileURL } from "node:url";

/**
 * Imports a module of the embedder, and returns a function that it exports.
 *
 * @param module An absolute path, or a `file:` URL.
 * @throws {Error} if the import fails, or the module does not export such a function.
 */
export async function loadFunction(module: string, name: string): Promise<(...args: never[]) => unknown> {
  const url = module.startsWith("file:") ? module : pathToFileURL(module).href;
  const exports: Record<string, unknown> = await import(url);
  const loaded = exports[name];
  if (typeof loaded === "function") return loaded as (...args: never[]) => unknown;
  throw new Error(`the module has no exported function '${name}'`);
}
