/** Returns a reference by which an operator finds what the model must not read: six hexadecimal digits. */
export function newReference(): string {
  // Loaded on first use: that takes half as long as loading this whole package.
  random ??= process.getBuiltinModule("node:crypto").randomBytes;
  return random(3).toString("hex");
}

let random: typeof import("node:crypto").randomBytes | undefined;
