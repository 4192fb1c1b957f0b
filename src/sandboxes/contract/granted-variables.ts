/**
 * Returns the environment variables of this process that a grant names, as far as they are set.
 *
 * @param names Default: none.
 */
export function grantedVariables(names: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
