/**
 * Runs changes of files one after another, since several calls of a message run at once: of two edits of one file, the
 * later one has to read what the earlier one has written.
 */
export class Writing {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Runs a change when the earlier ones have ended.
   *
   * @param workspace The path of the workspace that is changed. Changes of others do not wait.
   */
  async run<Result>(workspace: string | undefined, change: () => Promise<Result>): Promise<Result> {
    const key = workspace ?? "";
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
