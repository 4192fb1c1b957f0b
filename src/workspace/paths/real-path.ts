import { readlinkSync } from "node:fs";
import { syscall } from "../error.ts";
import { fdPath } from "./fd-path.ts";

/** Returns the current path of an open directory. */
export function realPath(fd: number, encoding: BufferEncoding = "utf8"): string {
  return syscall(() => readlinkSync(fdPath(fd), { encoding }));
}

/** Returns the names in a path. */
export function namesIn(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}
