import type { ServerResponse } from "node:http";

/**
 * Ends the connection of whoever does not read: what an answer holds, it holds no longer than so many ms after it was
 * complete and nothing else was to be read before it.
 */
export function limitReadingTime(response: ServerResponse, ms: number): void {
  response.on("prefinish", () => {
    // Mostly the kernel has taken it all: no timer then.
    if (response.writableLength === 0) return;
    const timer = setTimeout(() => response.destroy(), ms);
    response.on("close", () => clearTimeout(timer));
  });
}
