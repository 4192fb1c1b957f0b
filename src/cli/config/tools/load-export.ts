import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";

/**
 * Imports a module of the config and returns one of its exports.
 *
 * @param path An absolute path.
 * @throws {Error} if the module is missing, cannot be loaded or has no such export. `message` says which.
 */
export async function loadExport(path: string, name = "default"): Promise<unknown> {
  // A missing module and a missing dependency of a module fail with the same error code.
  if (!(await isFile(path))) throw new Error("the module cannot be found");
  let exports: Record<string, unknown>;
  try {
    exports = await import(pathToFileURL(path).href);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : "it threw a value that is not an Error";
    throw new Error(`the module cannot be loaded: ${reason}`, { cause: thrown });
  }
  if (Object.hasOwn(exports, name)) return exports[name];
  const names = Object.keys(exports);
  const known = names.length === 0 ? "it exports nothing" : `it exports ${names.join(", ")}`;
  throw new Error(`the module has no export '${name}': ${known}`);
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
