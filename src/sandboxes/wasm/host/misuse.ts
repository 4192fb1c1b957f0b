/** A component called a function of the host in a way that ends its call. The model reads `message`. */
export class MisuseError extends Error {
  override readonly name = "MisuseError";

  /**
   * @param interfaceName The interface without its version, such as `wasi:random/random`.
   * @param problem What the component did, and what is allowed.
   */
  constructor(interfaceName: string, problem: string) {
    super(`Tool misused '${interfaceName}': ${problem}`);
  }
}
