import { dirname, isAbsolute, join, resolve } from "node:path";

/** A path in a config, which is relative to the config's file, as the operator would write it from here. */
export function pathBeside(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** The same as an absolute path. */
export function absolutePathBeside(file: string, path: string): string {
  return resolve(pathBeside(file, path));
}
