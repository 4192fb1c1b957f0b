import { readdirSync, readFileSync } from "node:fs";

/** O_CLOEXEC on Linux (asm-generic/fcntl.h). */
const CLOSED_ON_EXEC = 0o2000000;

/**
 * Returns the descriptors of this process, besides the standard ones, that every program it starts would inherit. Node.js
 * marks its own, but not those that it inherited itself or that a native addon opened.
 */
export function leakingDescriptors(): readonly number[] {
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && isInherited(fd));
}

function isInherited(fd: number): boolean {
  try {
    const [, flags = ""] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // It was the directory itself, which is closed now.
    return false;
  }
}
