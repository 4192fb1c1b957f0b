/** Hosts that are the program itself, for which it does not use the proxy. */
export const OWN_LOOPBACK: readonly string[] = ["localhost", "127.0.0.1", "::1"];

/** Where nothing can be shown to a program, as the system's own files are there. */
const TAKEN = [
  "/bin",
  "/dev",
  "/etc",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/proc",
  "/sbin",
  "/sys",
  "/usr",
];

/** Returns the directory of the system in which a path is; `undefined` if it is elsewhere. */
export function takenPlace(path: string): string | undefined {
  return TAKEN.find((place) => path === place || path.startsWith(`${place}/`));
}
