/**
 * Runs changes of files, or of what a session remembers, one after another, since several calls run at once: of two edits
 * of one file, the later one has to read what the earlier one has written.
 */
export class Writing {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Runs a change when the earlier ones have ended.
   *
   * @param changed What is changed, such as the path of a workspace. Changes of something else do not wait.
   */
  async run<Result>(changed: string | undefined, change: () => Promise<Result>): Promise<Result> {
    const key = changed ?? "";
    const before = this.#last.get(key) ?? Promise.resolve();
    const result = before.then(change);
    const ended = result.catch(() => undefined);
    this.#last.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }
}
