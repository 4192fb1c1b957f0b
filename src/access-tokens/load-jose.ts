/** The library for JSON Web Tokens. */
export type Jose = typeof import("jose");

/**
 * Loads the library on first use: it is an optional peer, which only servers that verify access tokens need.
 *
 * @throws {TypeError} as a rejection, if it is not installed.
 */
export async function loadJose(): Promise<Jose> {
  try {
    return await import("jose");
  } catch (cause) {
    throw new TypeError("verifying access tokens needs the package jose: install it", { cause });
  }
}
