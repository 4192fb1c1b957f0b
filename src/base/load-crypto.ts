/** Returns `node:crypto`. Loading it takes 4 ms, which a thread must not spend before its first task. */
export function loadCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}
