import { readFileSync, realpathSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { guardFiles } from "../../base/guarded-files.ts";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";

/** How many packages are followed from those that a module imports. */
const MAX_PACKAGES = 500;

const DEPENDENCIES = ["dependencies", "optionalDependencies", "peerDependencies"];

/**
 * Guards packages and those that they depend on, where they are installed.
 *
 * @param names The specifiers that name the packages.
 * @param from The path of a file from which they are resolved.
 */
export function guardPackages(names: readonly string[], from: string): void {
  const folders = new Set(names.flatMap((name) => folderOf(name, from)));
  for (const folder of folders) {
    const file = join(folder, "package.json");
    for (const found of dependenciesIn(file).flatMap((name) => folderOf(name, file))) {
      if (folders.size < MAX_PACKAGES) folders.add(found);
    }
  }
  guardFiles([...folders].map((path) => ({ path, access: "read", isFolder: true })));
}

/** Guards the code that runs now: Sandgate's own, and that of the packages that it uses. */
export function guardOwnCode(): void {
  const folder = fileURLToPath(PACKAGE_FOLDER);
  const file = join(folder, "package.json");
  const own = ["package.json", "dist", "src", "node_modules"].map((name) => join(folder, name));
  guardFiles(own.map((path) => ({ path, access: "read", isFolder: true })));
  guardPackages(dependenciesIn(file), file);
}

/** Returns the folder of a package without links: package managers make them, and replace them. */
function folderOf(specifier: string, from: string): readonly string[] {
  try {
    const found = findPackageJSON(specifier, from);
    return found === undefined ? [] : [realpathSync(dirname(found))];
  } catch {
    // It is not installed, or part of Node.js.
    return [];
  }
}

function dependenciesIn(file: string): readonly string[] {
  try {
    const content = JSON.parse(readFileSync(file, "utf8")) as JsonValue;
    if (!isJsonObject(content)) return [];
    return DEPENDENCIES.flatMap((kind) => {
      const { [kind]: dependencies } = content;
      return isJsonObject(dependencies) ? Object.keys(dependencies) : [];
    });
  } catch {
    return [];
  }
}
