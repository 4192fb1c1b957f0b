import type { NotEnforced } from "../../src/sandboxes/process/process-report.ts";
import { attemptNames } from "./attempt.ts";
import { OTHERS } from "./attempts/others.ts";

const isRoot = process.getuid?.() === 0;

/** The attempts that get out on Landlock, by what it does not hold. */
const ATTEMPTS: Readonly<Record<NotEnforced, readonly string[]>> = {
  attributes: [
    "change a file outside: mode",
    "change a file outside: times",
    "change what is granted for reading: mode",
    "change what is granted for reading: times",
    "change the system: the mode of a program",
  ],
  existence: [
    "learn about the machine: the size of a file outside",
    "learn about the machine: changes in a directory outside",
    "use a device: the console",
    "the kernel's files: see the machine's devices",
  ],
  "package files": ["read a file outside: the package.json above"],
  processes: [
    "the kernel's files: see the machine's processes",
    "other processes: affinity",
    // The processes of root have capabilities, which the program has not.
    ...(isRoot ? [] : ["other processes: set affinity"]),
    "other processes: getsid",
  ],
  "protected places": attemptNames(OTHERS).filter((name) => name.startsWith("change protected places: ")),
  user: isRoot
    ? ["gain privileges: a file with the privileges of its owner", "gain privileges: becoming root"]
    : [],
  // Only root makes them.
  devices: isRoot ? ["use a device: a device in a granted directory"] : [],
  "host name": ["learn about the machine: its name"],
  "temporary files": ["use more than is granted: fill the temporary directory"],
};

/** The names of the attempts that get out on Landlock, exactly these and no others. */
export const NOT_HELD_ATTEMPTS: ReadonlySet<string> = new Set(Object.values(ATTEMPTS).flat());
