import { dirname, isAbsolute, join, resolve } from "node:path";
import { guardFiles } from "../../base/guarded-files.ts";
import { guardModule } from "./guard-code.ts";

/** Resolves a path of a config against the config's file, and keeps it relative if it can. */
export function pathBeside(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** Resolves a path of a config to an absolute path. */
export function absolutePathBeside(file: string, path: string): string {
  return resolve(pathBeside(file, path));
}

/** Resolves the path of what runs, which no tool may change, to an absolute path. */
export function guardedPathBeside(file: string, path: string): string {
  const absolute = absolutePathBeside(file, path);
  guardFiles([{ path: absolute, access: "read", isFolder: true }]);
  guardModule(absolute);
  return absolute;
}
