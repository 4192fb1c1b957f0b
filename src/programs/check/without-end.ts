/** Removes white space and semicolons from the end of code, in linear time. */
export function withoutEnd(code: string): string {
  let end = code.length;
  while (end > 0 && /[\s;]/.test(code.charAt(end - 1))) end--;
  return code.slice(0, end);
}
