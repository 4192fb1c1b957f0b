/** Arguments do not fit a function's type. `message` is for the model: it says where and why. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";

  constructor(path: string, why: string) {
    super(`Invalid arguments: ${path || "/"} ${why}`);
  }
}
