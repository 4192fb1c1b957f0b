/** Which server has which name of a tool. A name that two servers want is given to neither. */
export class ToolNames {
  readonly #owners = new Map<string, string>();
  readonly #contested = new Map<string, string>();

  /** Returns the server that has the name. */
  ownerOf(name: string): string | undefined {
    return this.#owners.get(name);
  }

  /** Returns the servers that want the same name; `undefined` if at most one does. */
  rivalsFor(name: string): string | undefined {
    return this.#contested.get(name);
  }

  give(name: string, server: string): void {
    this.#owners.set(name, server);
  }

  /** A second server wants a name: which of them a call would reach must not depend on which was faster. */
  contest(name: string, one: string, other: string): void {
    this.#owners.delete(name);
    this.#contested.set(name, `'${one}' and '${other}'`);
  }

  free(name: string): void {
    this.#owners.delete(name);
  }
}
