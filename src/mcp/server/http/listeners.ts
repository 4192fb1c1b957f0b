/** How many streams one principal may listen on. The SDK bounds those of all. */
const MAX_OF_PRINCIPAL = 32;

/** Counts the streams of `subscriptions/listen`, so that no principal takes the places of the others. */
export class Listeners {
  /** The ids of principals. A request that nothing holds would not be aborted with the connection. */
  readonly #open = new Map<Request, string>();

  /**
   * Counts a stream until its request is aborted. Returns `false` if the principal has too many.
   *
   * @param principal Its id.
   */
  begin(principal: string, request: Request): boolean {
    let own = 0;
    for (const each of this.#open.values()) if (each === principal) own++;
    if (own >= MAX_OF_PRINCIPAL) return false;
    if (request.signal.aborted) return true;
    this.#open.set(request, principal);
    request.signal.addEventListener("abort", () => this.#open.delete(request), { once: true });
    return true;
  }
}
