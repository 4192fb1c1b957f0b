import type { Hash } from "node:crypto";

/**
 * Returns the SHA-256 of what a directory contains: the paths, kinds and permissions of all entries, the contents of files
 * and the targets of links. `null` if it cannot be read.
 */
export function digestOfDirectory(directory: string): string | null {
  const { createHash } = process.getBuiltinModule("node:crypto");
  const hash = createHash("sha256");
  try {
    addBelow(hash, directory, "");
    return hash.digest("hex");
  } catch {
    return null;
  }
}

function addBelow(hash: Hash, directory: string, parent: string): void {
  const { lstatSync, readdirSync, readFileSync, readlinkSync } = process.getBuiltinModule("node:fs");
  for (const name of readdirSync(`${directory}/${parent}`).sort()) {
    const path = `${parent}${name}`;
    const file = `${directory}/${path}`;
    const status = lstatSync(file);
    let content: string | Uint8Array = "";
    if (status.isFile()) content = readFileSync(file);
    else if (status.isSymbolicLink()) content = readlinkSync(file);
    // Lengths keep the parts of different entries apart.
    hash.update(JSON.stringify([path, status.mode, Buffer.byteLength(content)]));
    hash.update(content);
    if (status.isDirectory()) addBelow(hash, directory, `${path}/`);
  }
}
