import { closeSync, openSync, readdirSync, readSync } from "node:fs";

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

/** What the kernel says of a descriptor: the flags are in the second line. A process can have thousands. */
const info = Buffer.alloc(128);

function isInherited(fd: number): boolean {
  try {
    const file = openSync(`/proc/self/fdinfo/${fd}`, "r");
    const bytes = readSync(file, info, 0, info.length, 0);
    closeSync(file);
    const [, flags = ""] = /^flags:\s*([0-7]+)$/m.exec(info.toString("latin1", 0, bytes)) ?? [];
    return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // It was the directory itself, which is closed now.
    return false;
  }
}
