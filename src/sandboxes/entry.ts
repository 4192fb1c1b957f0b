/**
 * The path of a thread's or child's entry module beside the module that asks. Node runs the `.ts` in
 * development and the `.js` of the built package; the compiler does not rewrite such names.
 */
export function entryBeside(moduleFilename: string, name: string): string {
  const extension = moduleFilename.endsWith(".ts") ? ".ts" : ".js";
  return moduleFilename.replace(/[^/\\]+$/, `${name}${extension}`);
}
